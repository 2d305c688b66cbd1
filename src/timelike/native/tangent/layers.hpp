// What one layer does to the numbers of a register of pairs: the formulas of fallback_layers.py, and functions they need.
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

// (asin z − z) / z³ over t = z² in [0, ½], at Chebyshev nodes
constexpr double of_asin[20] = {0.16666666666666666, 0.0750000000000028, 0.04464285714211393, 0.03038194452250247,
    0.02237215476552006, 0.017352910485470593, 0.01396156950707128, 0.011603298700993395, 0.00917160999006769,
    0.013442391811587493, -0.025581324215004246, 0.17101146220020227, -0.6297138419141283, 1.8963187485717359,
    -4.297586832199172, 7.358619925497615, -9.158597380805825, 7.8829450923016555, -4.201910132386749, 1.0656658840535};

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
inline V expm1_negative(V x) {
    const Mask small = x > -0.34;
    const V r = chosen(small, x, V{});
    return chosen(small, fused(polynomial<double>(Constants<double>::exponential, r), r * r, r), exponential<double>(x) - 1.0);
}

// One side of a pair before a layer: the same in all lanes, or a point in each.
struct Side {
    V a, root, inverse, grown, decay, wide, turn, over, lever, share;
};
inline Side of_row(const double* fields) {
    const auto one = [&](int k) { return all(fields[k]); };
    return {one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7), one(8), one(9)};
}
inline Side of_columns(const double* fields, int64_t stride) {
    const auto one = [&](int64_t k) { return load(fields + k * stride); };
    return {one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7), one(8), one(9)};
}

struct Pair {
    V c, apart, change;
    V smaller;  // of 1 − cos θ and 1 + cos θ, and whether it is the second: known from the beginning in a cone
    Mask back;
};

// LayerOutput the layer, times w². `z` is D where a pair is near from the beginning, else c.
struct LayerOutput {
    V c, tau, apart, change, tau_c;
    V z_x, z_y, tau_x, tau_y;  // of z and of tau, z fixed, by either variance before the first layer
    V smaller;
    Mask back;

    void add(const LayerOutput& o) {
        c += o.c, tau += o.tau, apart += o.apart, change += o.change, tau_c += o.tau_c;
        z_x += o.z_x, z_y += o.z_y, tau_x += o.tau_x, tau_y += o.tau_y;
    }
};

inline V ratio(V a, V b) { return chosen(b == 0, V{}, a / chosen(b == 0, all(1.0), b)); }

// 1 − cos θ: from D where vectors are near, else from c; 1 where one of them is 0
inline V turned(const Side& x, const Side& y, const Pair& pair, V p, V over, double snap) {
    const Mask near = pair.apart < tangent_near * p;
    V u = 1.0 - pair.c * over, slack = all(snap * rounding);
    if (any(near)) {
        const V q = ratio(pair.change, x.root + y.root);
        u = chosen(near, (pair.apart - q * q) * (0.5 * over), u);
        slack = chosen(near, slack * (pair.apart * over), slack);
    }
    return chosen(u <= slack, V{}, chosen(u >= 2.0 - slack, all(2.0), u));
}

template <bool Cone, bool Graded, bool Both, bool Some>
inline LayerOutput bent(const TangentBranch& branch, double snap, const Side& x, const Side& y, const Pair& pair, Mask near) {
    LayerOutput out;
    const V p = x.root * y.root, over = x.inverse * y.inverse;
    V smaller = pair.smaller;
    Mask back = pair.back;
    if (!Cone) {
        const V u = turned(x, y, pair, p, over, snap);
        smaller = least(u, 2.0 - u), back = u > 1.0;
    }
    // h is θ or π − θ, whichever is the smaller: the even part makes the same of both, and nothing cancels at either end
    const V size = 1.0 - smaller, cosine = chosen(back, -size, size), t = 0.5 * smaller;
    const V low = root(t), twice = low + low, high = root(1.0 - t), grade = t * in_parts(of_asin, t);
    const V half = fused(twice, grade, twice), sine = twice * high;
    // h − sin h, of an arcsine and a root which both are near 1, and whose distances to it are known
    const V late = twice * (grade + t / (1.0 + high)), bend = fused(half, smaller, -late);
    const double pull = branch.even / pi, sum = branch.odd + branch.even, rest = branch.odd - branch.even;
    const V turning = (2.0 * pull) * half, bending = (2.0 * pull) * bend;
    out.c = p * fused(chosen(back, all(rest), all(sum)), cosine, bending);
    out.tau = chosen(back, rest + turning, sum - turning);
    out.apart = sum * pair.apart - (p + p) * bending;
    if (any(back)) {
        const V q = ratio(pair.change, x.root + y.root), even = branch.even * fused(p + p, smaller, q * q);
        out.apart = chosen(back, fused(all(branch.odd), pair.apart, even) - (p + p) * bending, out.apart);
    }
    out.change = sum * pair.change;
    if (Cone) {
        const V share = chosen(back, all(rest), all(-sum)), u = (1 / sum) * ((sum + share) - share * smaller - bending);
        out.smaller = least(u, 2.0 - u), out.back = u > 1.0;
    }
    if (!Graded) return out;
    // 0 where vectors are parallel: what has no limit there is left out
    const V one = chosen(sine == 0, V{}, pull / chosen(sine == 0, all(1.0), sine)), aside = cosine * one;
    out.tau_c = (one + one) * over;
    out.z_x = (pull * x.lever) * (y.root * sine);
    out.tau_x = aside * -x.share;
    if (Both) {
        out.z_y = (pull * x.root) * (y.lever * sine);
        out.tau_y = aside * -y.share;
    }
    if (Some) {
        const V q = ratio(pair.change, x.root + y.root), qx = q * y.inverse;
        out.z_x = chosen(near, ((2.0 * pull) * x.lever) * (y.root * fused(half, qx, late)), out.z_x);
        out.tau_x = chosen(near, ((qx + smaller) * one) * x.share, out.tau_x);
        if (Both) {
            const V qy = q * x.inverse;
            out.z_y = chosen(near, ((2.0 * pull) * x.root) * (y.lever * fused(half, -qy, late)), out.z_y);
            out.tau_y = chosen(near, ((smaller - qy) * one) * y.share, out.tau_y);
        }
    }
    return out;
}

template <bool Graded, bool Both, bool Some>
inline LayerOutput waved(double square, const Side& x, const Side& y, const Pair& pair, Mask near) {
    LayerOutput out;
    const V half = 0.5 * pair.apart, shorter = expm1_negative(-half), sum = x.a + y.a;
    const V apart = shorter + 1.0, together = exponential<double>(least(half - sum, V{}));
    const V size = magnitude(pair.c), part = (-0.5 * square) * expm1_negative(-2.0 * size);
    out.c = chosen(pair.c < 0, -together, apart) * part;
    out.tau = (0.5 * square) * (apart + together);
    const V away = magnitude(pair.change), gone = expm1_negative(-away), decay = (0.5 * square) * (most(x.decay, y.decay) * gone);
    out.apart = -square * (shorter * (1.0 + together)) - decay * gone;
    // 1 − exp(−2r) = (1 − exp(−r)) (1 + exp(−r))
    const V change = -decay * (2.0 + gone);
    out.change = chosen(pair.change < 0, -change, change);
    if (!Graded) return out;
    out.tau_c = out.c;
    V z_x = -0.5 * out.c, tau = -0.5 * out.tau, z_y = z_x;
    if (Some) {
        // exp(−2a) − exp(−(a + b) + D/2)
        const auto by = [&](V own, V more) { return square * (chosen(more < 0, -own, together) * expm1_negative(-magnitude(more))); };
        z_x = chosen(near, by(x.decay, half + pair.change), z_x);
        tau = chosen(near, (-0.5 * square) * together, tau);
        if (Both) z_y = chosen(near, by(y.decay, half - pair.change), z_y);
    }
    out.z_x = z_x * x.grown, out.tau_x = tau * x.grown;
    if (Both) out.z_y = z_y * y.grown, out.tau_y = tau * y.grown;
    return out;
}

template <bool Graded, bool Both, bool Some>
inline LayerOutput squashed(double square, double snap, const Side& x, const Side& y, const Pair& pair, Mask near) {
    LayerOutput out;
    const V p = x.root * y.root, u = turned(x, y, pair, p, x.inverse * y.inverse, snap);
    constexpr double k = 2 * g2;
    const V A = k * x.a, B = k * y.a, C = k * pair.c, D = k * pair.apart, change = k * pair.change;
    const V P = k * p, gram = P * P * (u * (2.0 - u));  // AB − C²
    const V R = root(1.0 + A + B + gram), over = root(x.over * y.over);
    const V psi = angle_of(C * over, R * over), inverse = 1.0 / R;
    const double turn = 0.5 * square / pi;
    out.c = fused(all(turn), psi, all(0.25 * square));
    out.tau = (k * turn) * inverse;
    out.apart = turn * (x.turn + y.turn - 2.0 * psi);
    out.change = turn * (x.turn - y.turn);
    const Mask close = pair.apart < tangent_near * p;
    if (any(close)) {
        const V Z = 1.0 + A + B + x.wide * y.wide, share = change * change / (2.0 * Z);
        const V half = ratio(gram + share, R * root(A * B + share) + C * root(0.5 * Z));
        out.apart = chosen(close, (2 * turn) * small_asin(least(half, all(0.7))), out.apart);
        const V twist = ratio(change * (A + B + 2.0 * A * B) * (x.over * y.over), A * y.wide + B * x.wide);
        out.change = chosen(close, turn * small_asin(most(least(twist, all(0.7)), all(-0.7))), out.change);
    }
    if (!Graded) return out;
    const V cubed = (g2 * k * turn) * inverse * inverse * inverse, bent = (-g2 * turn) * C * inverse;
    out.tau_c = 2.0 * cubed * C;
    V z_x = bent * x.over, tau_x = -cubed * (1.0 + B), z_y = bent * y.over, tau_y = -cubed * (1.0 + A);
    if (Some) {
        // 1/V − (1 + h)/R with h = A − C
        const auto by = [&](const Side& own, V more) {
            const V h = 0.5 * (more + D), v = own.wide, top = D + gram - 2.0 * h * (1.0 + v * v) - v * v * h * h;
            const Mask usual = h > -1.0;
            const V bottom = v * R * chosen(usual, R + v * (1.0 + h), all(1.0));
            return (k * turn) * own.over * chosen(usual, top / bottom, 1.0 / v - (1.0 + h) * inverse);
        };
        z_x = chosen(near, by(x, change), z_x);
        tau_x = chosen(near, cubed * (0.5 * (change - D) - 1.0), tau_x);
        if (Both) {
            z_y = chosen(near, by(y, -change), z_y);
            tau_y = chosen(near, cubed * (-0.5 * (change + D) - 1.0), tau_y);
        }
    }
    out.z_x = z_x * x.grown, out.tau_x = tau_x * x.grown;
    if (Both) out.z_y = z_y * y.grown, out.tau_y = tau_y * y.grown;
    return out;
}

// Of networks of one branch the family is known when this is compiled.
template <int Family, bool Graded, bool Both, bool Some>
inline LayerOutput layer(const TangentNet& net, const Side& x, const Side& y, const Pair& pair, Mask near) {
    const auto of = [&](const TangentBranch& branch, int family) {
        if (family == tangent_slope) return bent<false, Graded, Both, Some>(branch, net.snap, x, y, pair, near);
        if (family == tangent_sine) return waved<Graded, Both, Some>(net.square, x, y, pair, near);
        return squashed<Graded, Both, Some>(net.square, net.snap, x, y, pair, near);
    };
    if constexpr (Family == tangent_cone) return bent<true, Graded, Both, Some>(net.branches[0], net.snap, x, y, pair, near);
    if constexpr (Family >= 0) return of(net.branches[0], Family);
    LayerOutput out = of(net.branches[0], net.branches[0].family);
    for (int64_t k = 1; k < net.count; k++) out.add(of(net.branches[k], net.branches[k].family));
    return out;
}

}  // namespace
}  // namespace timelike
