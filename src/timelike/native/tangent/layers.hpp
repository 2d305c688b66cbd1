// What one layer does to the numbers of a register of pairs: the formulas of twin_layers.py, and functions they need.
#pragma once
#include "machine/explog.hpp"
#include "tangent/table.hpp"

namespace timelike {
namespace {

typedef vec<double> V;
typedef decltype(V{} < V{}) Mask;
constexpr int W = lanes<double>;
constexpr double pi = 3.14159265358979323846, tangent_near = 1.0 / 64, rounding = 2.220446049250313e-16;
constexpr double g2 = 0.17331398823491317;  // 1 / 2.4020563531719796²

inline V chosen(Mask mask, V yes, V no) { return mask ? yes : no; }

inline bool any(Mask mask) {
#if defined(__AVX512DQ__)
    return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_pd((__m256d)mask) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_pd((__m128d)mask) != 0;
#else
    for (int l = 0; l < W; l++)
        if (mask[l]) return true;
    return false;
#endif
}

// A polynomial in four parts that do not wait for each other.
template <int N>
inline V in_parts(const double (&k)[N], V t) {
    static_assert(N % 4 == 0, "parts of the same length");
    const V t2 = t * t, t4 = t2 * t2;
    V part[4];
    for (int c = 0; c < 4; c++) {
        part[c] = all(k[N - 4 + c]);
        for (int n = N - 8; n >= 0; n -= 4) part[c] = fused(part[c], t4, all(k[n + c]));
    }
    return fused(fused(part[3], t, part[2]), t2, fused(part[1], t, part[0]));
}

// Over t = z² in [0, ½], at Chebyshev nodes: (asin z − z) / z³, and (sin h − h cos h) / 2z³ of h = 2 asin z.
constexpr double of_asin[20] = {0.16666666666666666, 0.0750000000000028, 0.04464285714211393, 0.03038194452250247,
    0.02237215476552006, 0.017352910485470593, 0.01396156950707128, 0.011603298700993395, 0.00917160999006769,
    0.013442391811587493, -0.025581324215004246, 0.17101146220020227, -0.6297138419141283, 1.8963187485717359,
    -4.297586832199172, 7.358619925497615, -9.158597380805825, 7.8829450923016555, -4.201910132386749, 1.0656658840535};
constexpr double of_bend[16] = {1.333333333333333, 0.1333333333335984, 0.04285714281228153, 0.01984127283174374, 0.011047875536508885,
    0.006885929296785645, 0.004597422947804142, 0.0035678799364904507, 0.0005531377835610282, 0.010876284345694345,
    -0.02988899085089966, 0.0796068090640074, -0.13724132401820788, 0.1644672670749581, -0.11755033439763848,
    0.04096300892594437};

// asin of what is at most √½
inline V small_asin(V z) {
    const V t = z * z;
    return fused(z * t, in_parts(of_asin, t), z);
}

// the angle in (−π/2, π/2) of which sine and cosine (0 or more) are given
inline V angle_of(V sine, V cosine) {
    const V size = magnitude(sine);
    const Mask steep = size > cosine;
    const V found = small_asin(chosen(steep, cosine, size)), whole = chosen(steep, all(pi / 2) - found, found);
    return chosen(sine < 0, -whole, whole);
}

// exp(x) − 1 of x up to 0
inline V lost(V x) {
    const Mask small = x > -0.34;
    const V r = chosen(small, x, V{});
    return chosen(small, fused(polynomial<double>(Constants<double>::exponential, r), r * r, r), exponential<double>(x) - 1.0);
}

// One side of a pair before a layer: the same in all lanes, or a point in each.
struct Side {
    V a, root, inverse, grown, decay, wide, turn, over;
};
inline Side of_row(const double* fields) {
    const auto one = [&](int k) { return all(fields[k]); };
    return {one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7)};
}
inline Side of_columns(const double* fields, int64_t stride) {
    const auto one = [&](int64_t k) { return load(fields + k * stride); };
    return {one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7)};
}

struct Pair {
    V c, apart, change;
};

// After the layer, but for weights and bias. `z` is D where a pair is near from the beginning, else c.
struct After {
    V c, tau, apart, change, tau_c;
    V z_x, z_y, tau_x, tau_y;  // of z and of tau by either variance, z fixed

    void add(const After& o) {
        c += o.c, tau += o.tau, apart += o.apart, change += o.change, tau_c += o.tau_c;
        z_x += o.z_x, z_y += o.z_y, tau_x += o.tau_x, tau_y += o.tau_y;
    }
};

inline V ratio(V a, V b) { return chosen(b == 0, V{}, a / chosen(b == 0, all(1.0), b)); }

// 1 − cos θ: from D where vectors are near, else from c; 1 where one of them is 0
inline V turned(const Side& x, const Side& y, const Pair& pair, V p, double snap) {
    const Mask near = pair.apart < tangent_near * p;
    const V over = x.inverse * y.inverse;
    V u = 1.0 - pair.c * over, slack = all(snap * rounding);
    if (any(near)) {
        const V q = ratio(pair.change, x.root + y.root);
        u = chosen(near, (pair.apart - q * q) * (0.5 * over), u);
        slack = chosen(near, slack * (pair.apart * over), slack);
    }
    return chosen(u <= slack, V{}, chosen(u >= 2.0 - slack, all(2.0), u));
}

template <bool Graded, bool Both>
inline After bent(const TangentBranch& branch, double snap, const Side& x, const Side& y, const Pair& pair, Mask near, bool some) {
    After out;
    const V p = x.root * y.root, u = turned(x, y, pair, p, snap), cosine = 1.0 - u;
    const V least = timelike::least(u, 2.0 - u), t = 0.5 * least;
    // h is θ or π − θ, whichever is the smaller: the even part makes the same of both, and nothing cancels at either end
    const V low = root(t), twice = low + low, half = fused(twice * t, in_parts(of_asin, t), twice);
    const V bend = twice * t * in_parts(of_bend, t), sine = fused(half, 1.0 - least, bend);
    const Mask back = u > 1.0;
    const double pull = branch.even / pi, sum = branch.odd + branch.even, rest = branch.odd - branch.even;
    const V turning = 2.0 * pull * half;
    out.c = p * fused(chosen(back, all(rest), all(sum)), cosine, 2.0 * pull * bend);
    out.tau = chosen(back, rest + turning, sum - turning);
    out.apart = sum * pair.apart - p * (2.0 * branch.even * (u - least) + 4.0 * pull * bend);
    out.change = sum * pair.change;
    if (!Graded) return out;
    // 0 where vectors are parallel: what has no limit there is left out
    const V one = chosen(sine == 0, V{}, pull / chosen(sine == 0, all(1.0), sine));
    const V x2 = x.inverse * x.inverse, y2 = y.inverse * y.inverse;
    out.tau_c = 2.0 * one * (x.inverse * y.inverse);
    out.z_x = pull * (y.root * x.inverse) * sine;
    out.tau_x = -(cosine * one) * x2;
    if (Both) {
        out.z_y = pull * (x.root * y.inverse) * sine;
        out.tau_y = -(cosine * one) * y2;
    }
    if (some) {
        const V q = ratio(pair.change, x.root + y.root);
        const V qx = q * y.inverse, late = half * least - bend;  // h − sin h
        out.z_x = chosen(near, 2.0 * pull * (y.root * x.inverse) * (late + half * qx), out.z_x);
        out.tau_x = chosen(near, (qx + u) * one * x2, out.tau_x);
        if (Both) {
            const V qy = q * x.inverse;
            out.z_y = chosen(near, 2.0 * pull * (x.root * y.inverse) * (late - half * qy), out.z_y);
            out.tau_y = chosen(near, (u - qy) * one * y2, out.tau_y);
        }
    }
    return out;
}

template <bool Graded, bool Both>
inline After waved(const Side& x, const Side& y, const Pair& pair, Mask near, bool some) {
    After out;
    const V half = 0.5 * pair.apart, short_ = lost(-half), sum = x.a + y.a;
    const V apart = short_ + 1.0, together = exponential<double>(least(half - sum, V{}));
    const V size = magnitude(pair.c), part = -0.5 * lost(-2.0 * size);
    out.c = chosen(pair.c < 0, -together, apart) * part;
    out.tau = 0.5 * (apart + together);
    const V away = magnitude(pair.change), gone = lost(-away), decay = most(x.decay, y.decay);
    out.apart = -short_ * (1.0 + together) - 0.5 * decay * gone * gone;
    // 1 − exp(−2r) = (1 − exp(−r)) (1 + exp(−r))
    const V change = -0.5 * decay * gone * (2.0 + gone);
    out.change = chosen(pair.change < 0, -change, change);
    if (!Graded) return out;
    out.tau_c = out.c;
    out.z_x = out.z_y = -0.5 * out.c;
    out.tau_x = out.tau_y = -0.5 * out.tau;
    if (some) {
        // exp(−2a) − exp(−(a + b) + D/2)
        const auto by = [&](V own, V more) { return chosen(more < 0, -own, together) * lost(-magnitude(more)); };
        out.z_x = chosen(near, by(x.decay, half + pair.change), out.z_x);
        out.tau_x = chosen(near, -0.5 * together, out.tau_x);
        if (Both) {
            out.z_y = chosen(near, by(y.decay, half - pair.change), out.z_y);
            out.tau_y = out.tau_x;
        }
    } 
    return out;
}

template <bool Graded, bool Both>
inline After squashed(double snap, const Side& x, const Side& y, const Pair& pair, Mask near, bool some) {
    After out;
    const V p = x.root * y.root, u = turned(x, y, pair, p, snap);
    const V A = 2.0 * g2 * x.a, B = 2.0 * g2 * y.a, C = 2.0 * g2 * pair.c, D = 2.0 * g2 * pair.apart, change = 2.0 * g2 * pair.change;
    const V P = 2.0 * g2 * p, gram = P * P * (u * (2.0 - u));  // AB − C²
    const V R = root(1.0 + A + B + gram), over = root(x.over * y.over);
    const V psi = angle_of(C * over, R * over);
    out.c = 0.25 + psi * (0.5 / pi);
    const V inverse = 1.0 / R;
    out.tau = g2 / pi * inverse;
    out.apart = (x.turn + y.turn - 2.0 * psi) * (0.5 / pi);
    out.change = (x.turn - y.turn) * (0.5 / pi);
    const Mask close = pair.apart < tangent_near * p;
    if (any(close)) {
        const V both = x.wide * y.wide, Z = 1.0 + A + B + both, share = change * change / (2.0 * Z);
        const V half = ratio(gram + share, R * root(A * B + share) + C * root(0.5 * Z));
        out.apart = chosen(close, small_asin(least(half, all(0.7))) * (1 / pi), out.apart);
        const V twist = ratio(change * (A + B + 2.0 * A * B) * (x.over * y.over), A * y.wide + B * x.wide);
        out.change = chosen(close, small_asin(most(least(twist, all(0.7)), all(-0.7))) * (0.5 / pi), out.change);
    }
    if (!Graded) return out;
    const V cubed = g2 * g2 / pi * inverse * inverse * inverse, bent = -g2 / (2 * pi) * C * inverse;
    out.tau_c = 2.0 * cubed * C;
    out.z_x = bent * x.over, out.tau_x = -cubed * (1.0 + B);
    if (Both) out.z_y = bent * y.over, out.tau_y = -cubed * (1.0 + A);
    if (some) {
        // 1/V − (1 + h)/R with h = A − C
        const auto by = [&](const Side& own, V more) {
            const V h = 0.5 * (more + D), v = own.wide, top = D + gram - 2.0 * h * (1.0 + v * v) - v * v * h * h;
            const Mask usual = h > -1.0;
            const V bottom = v * R * chosen(usual, R + v * (1.0 + h), all(1.0));
            return g2 / pi * own.over * chosen(usual, top / bottom, 1.0 / v - (1.0 + h) * inverse);
        };
        out.z_x = chosen(near, by(x, change), out.z_x);
        out.tau_x = chosen(near, cubed * (0.5 * (change - D) - 1.0), out.tau_x);
        if (Both) {
            out.z_y = chosen(near, by(y, -change), out.z_y);
            out.tau_y = chosen(near, cubed * (-0.5 * (change + D) - 1.0), out.tau_y);
        }
    }
    return out;
}

// Of networks of one branch the family is known when this is compiled.
template <int Family, bool Graded, bool Both>
inline After layer(const TangentNet& net, const Side& x, const Side& y, const Pair& pair, Mask near, bool some) {
    if constexpr (Family == tangent_slope) return bent<Graded, Both>(net.branches[0], net.snap, x, y, pair, near, some);
    if constexpr (Family == tangent_sine) return waved<Graded, Both>(x, y, pair, near, some);
    if constexpr (Family == tangent_sigmoid) return squashed<Graded, Both>(net.snap, x, y, pair, near, some);
    After out;
    for (int64_t k = 0; k < net.count; k++) {
        const TangentBranch& branch = net.branches[k];
        After one;
        if (branch.family == tangent_slope) one = bent<Graded, Both>(branch, net.snap, x, y, pair, near, some);
        else if (branch.family == tangent_sine) one = waved<Graded, Both>(x, y, pair, near, some);
        else one = squashed<Graded, Both>(net.snap, x, y, pair, near, some);
        if (k == 0) out = one;
        else out.add(one);
    }
    return out;
}

}  // namespace
}  // namespace timelike
