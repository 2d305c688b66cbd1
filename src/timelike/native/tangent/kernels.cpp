// The recursion over layers, sums over features and over the other points, compiled once per instruction set. A pair has a
// lane; its number depends neither on the pairs beside it nor on the tile it is in.
#include "machine/lanes.hpp"
#include "tangent/layers.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

constexpr int R = register_bytes == 64 ? 8 : 6, C = register_bytes == 64 ? 3 : 2;  // accumulators that stay in registers
constexpr int64_t panel = C * W, J = 2 * panel;

constexpr int several = -1;  // branches
template <int N> struct Whole { static constexpr int value = N; };

struct PairValue {
    V value, turn, own_x, own_y;
    Mask near;
};

// Layer after layer; some pairs are near, or none is: their numbers are the same either way.
template <int Family, bool Graded, bool Both, bool Some>
inline PairValue through(const TangentNet& net, const double* row, const double* columns, int64_t stride, Pair pair, Mask near) {
    Side x = of_row(row), y = of_columns(columns, stride);
    const V half = Some ? chosen(near, all(-0.5), all(1.0)) : all(1.0);  // of c by what is carried: D or c
    const auto of_c = [&](V z) { return Some ? half * z : z; };
    const auto of_c_by_own = [&](V z, V grown) { return Some ? chosen(near, 0.5 * (grown - z), z) : z; };
    V kernel = pair.c, by_v = half, by_x = Some ? chosen(near, all(0.5), V{}) : V{}, by_y = by_x;
    V z_v = all(1.0), z_x = {}, z_y = {};
    for (int64_t l = 0; l < net.depth; l++) {
        const LayerOutput after = layer<Family, Graded, Both, Some>(net, x, y, pair, near);
        row += tangent_fields, columns += tangent_fields * stride;
        x = of_row(row), y = of_columns(columns, stride);
        const V tau = after.tau, mean = after.c + (l + 1 < net.depth ? net.bias : 0);
        if (Graded) {
            const V tau_v = of_c(after.tau_c);
            const V slope_v = fused(tau, by_v, tau_v * (z_v * kernel));
            const V slope_x = fused(tau, by_x, kernel * fused(tau_v, z_x, after.tau_x));
            const V slope_y = Both ? fused(tau, by_y, kernel * fused(tau_v, z_y, after.tau_y)) : V{};
            z_v = tau * z_v, z_x = fused(tau, z_x, after.z_x);
            if (Both) z_y = fused(tau, z_y, after.z_y);
            by_v = of_c(z_v), by_x = of_c_by_own(z_x, x.grown);
            if (Both) by_y = of_c_by_own(z_y, y.grown);
            if (net.tangent) by_v += slope_v, by_x += slope_x;
            if (Both && net.tangent) by_y += slope_y;
        }
        kernel = net.tangent ? fused(tau, kernel, mean) : mean;
        pair = {mean, after.apart, after.change, after.smaller, after.back};
    }
    return {kernel, Some ? chosen(near, 2.0 * by_v, by_v) : by_v, 2.0 * by_x, 2.0 * by_y, near};
}

template <int Family, bool Graded, bool Both>
inline PairValue through(const TangentNet& net, const double* row, const double* columns, int64_t stride, const Pair& pair) {
    const Mask near = pair.apart < tangent_near * (all(row[tangent_root]) * load(columns + tangent_root * stride));
    if (Graded && any(near)) return through<Family, Graded, Both, true>(net, row, columns, stride, pair, near);
    return through<Family, Graded, Both, false>(net, row, columns, stride, pair, near);
}

// Sums over few features, all by differences: of one row and a register of columns.
inline Pair summed(const double* x, const double* panels, int64_t features) {
    V c = {}, apart = {}, change = {};
    for (int64_t k = 0; k < features; k++) {
        const V one = all(x[k]), two = load(panels + k * panel), away = one - two;
        c = fused(one, two, c), apart = fused(away, away, apart), change = fused(away, one + two, change);
    }
    return {c, apart, change, V{}, Mask{}};
}

// ⟨x_i, y_j⟩ of a tile of rows and a panel of columns.
inline void products(const double* const* x, const double* y, int64_t features, double* into) {
    V sum[R][C] = {};
    for (int64_t k = 0; k < features; k++, y += panel) {
        V two[C];
        for (int j = 0; j < C; j++) two[j] = load(y + j * W);
        for (int i = 0; i < R; i++) {
            const V one = all(x[i][k]);
            for (int j = 0; j < C; j++) sum[i][j] = fused(one, two[j], sum[i][j]);
        }
    }
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) store(into + i * J + j * W, sum[i][j]);
}

inline double total(V value) {
    double sum = 0;
    for (int l = 0; l < W; l++) sum += value[l];
    return sum;
}

// Of pairs that are near by their products, the differences: lane by lane, as there are few.
inline void mend(const TangentPoints& x, const TangentPoints& y, int64_t i, int64_t j, Mask near, double scale, Pair& pair) {
    for (int l = 0; l < W; l++) {
        if (!near[l]) continue;
        const double *one = x.padded + i * x.stride, *two = y.padded + (j + l) * y.stride;
        V apart = {}, change = {};
        for (int64_t k = 0; k < x.stride; k += W) {
            const V p = load(one + k), q = load(two + k), away = p - q;
            apart = fused(away, away, apart), change = fused(away, p + q, change);
        }
        pair.apart[l] = scale * total(apart), pair.change[l] = scale * total(change);
    }
}

// Before the first layer: a register of pairs, whose products or sums are known.
inline Pair first(const TangentNet& net, const TangentPoints& x, const TangentPoints& y, const double* row, const double* columns, int64_t i,
                  int64_t j, const double* products) {
    if (!products) {
        const Pair sums = summed(x.rows + i * x.features, y.panels + j / panel * panel * y.features + j % panel, x.features);
        return {fused(all(net.scale), sums.c, all(net.first)), net.scale * sums.apart, net.scale * sums.change, V{}, Mask{}};
    }
    const V a = all(row[tangent_variance]), b = load(columns + tangent_variance * y.filled);
    const V c = fused(all(net.scale), load(products), all(net.first));
    Pair pair = {c, most(a + b - 2.0 * c, V{}), a - b, V{}, Mask{}};
    const Mask near = pair.apart < tangent_near * (all(row[tangent_root]) * load(columns + tangent_root * y.filled));
    if (any(near)) mend(x, y, i, j, near, net.scale, pair);
    return pair;
}

// Of vectors that are far and nearly in line: half the squared length of x/‖x‖ ∓ y/‖y‖, which is 1 ∓ cos θ with all its digits.
inline V aligned(const TangentNet& net, const TangentPoints& x, const TangentPoints& y, V of_x, V of_y, Mask wanted, Mask back, int64_t i, int64_t j) {
    V sum = {};
    if (x.features <= tangent_few) {
        const V sign = chosen(back, -of_y, of_y);
        const double* const panels = y.panels + j / panel * panel * y.features + j % panel;
        for (int64_t k = 0; k < x.features; k++) {
            const V away = all(x.rows[i * x.features + k]) * of_x - load(panels + k * panel) * sign;
            sum = fused(away, away, sum);
        }
    } else {
        for (int l = 0; l < W; l++) {
            if (!wanted[l]) continue;
            const double *one = x.padded + i * x.stride, *two = y.padded + (j + l) * y.stride;
            const V first = all(of_x[l]), second = all(back[l] ? -of_y[l] : of_y[l]);
            V own = {};
            for (int64_t k = 0; k < x.stride; k += W) {
                const V away = load(one + k) * first - load(two + k) * second;
                own = fused(away, away, own);
            }
            sum[l] = total(own);
        }
    }
    return (0.5 * net.scale) * sum;
}

// The angle between two vectors where there is no bias, with all its digits wherever they are.
inline void open(const TangentNet& net, const TangentPoints& x, const TangentPoints& y, const double* row, const double* columns, int64_t i,
                 int64_t j, Pair& pair) {
    const V r = all(row[tangent_root]), s = load(columns + tangent_root * y.filled);
    const V of_x = all(row[tangent_inverse]), of_y = load(columns + tangent_inverse * y.filled), p = r * s, over = of_x * of_y;
    const Mask near = pair.apart < tangent_near * p;
    const V cosine = pair.c * over, size = most(1.0 - magnitude(cosine), V{});
    pair.back = cosine < 0, pair.smaller = size;
    const Mask in_line = ~near & (size < 0.5 * tangent_near);
    if (any(in_line)) {
        const V found = aligned(net, x, y, of_x, of_y, in_line, pair.back, i, j), slack = all(net.snap * rounding);
        pair.smaller = chosen(in_line, chosen(found <= slack * slack, V{}, found), size);
    }
    if (any(near)) {
        const V q = ratio(pair.change, r + s), u = (pair.apart - q * q) * (0.5 * over);
        const Mask none = u <= net.snap * rounding * (pair.apart * over);
        pair.smaller = chosen(near, chosen(none, V{}, u), pair.smaller), pair.back = near ? Mask{} : pair.back;
    }
}

template <int Family, bool Graded, bool Both>
void pairs_of(const TangentNet& net, const TangentPoints& x, const TangentPoints& y, int64_t i, int64_t rows, int64_t j, const TangentTile& tile,
              const double* sums) {
    const int64_t layers = (net.depth + 1) * tangent_fields;
    for (int64_t r = 0; r < rows; r++) {
        const double* row = x.by_row + (i + r) * layers;
        for (int64_t k = 0; k < J; k += W) {
            const double* columns = y.by_column + j + k;
            Pair pair = first(net, x, y, row, columns, i + r, j + k, sums ? sums + r * J + k : nullptr);
            if (Family == tangent_cone) open(net, x, y, row, columns, i + r, j + k, pair);
            const PairValue found = through<Family, Graded, Both>(net, row, columns, y.filled, pair);
            const int64_t at = r * J + k;
            store(tile.values + at, found.value);
            if (!Graded) continue;
            store(tile.far + at, chosen(found.near, V{}, found.turn));
            store(tile.near + at, chosen(found.near, found.turn, V{}));
            store(tile.own_x + at, found.own_x);
            if (Both) store(tile.own_y + at, found.own_y);
        }
    }
}

void pairs(const TangentNet& net, const TangentPoints& x, const TangentPoints& y, int64_t i, int64_t rows, int64_t j, TangentWanted wanted,
           const TangentTile& tile, double* sums) {
    const bool few = x.features <= tangent_few;
    if (!few) {
        const double* ones[R];
        for (int r = 0; r < R; r++) ones[r] = x.rows + (i + (r < rows ? r : rows - 1)) * x.features;
        for (int64_t k = 0; k < J; k += panel) products(ones, y.panels + (j + k) * y.features, x.features, sums + k);
    }
    const double* const known = few ? nullptr : sums;
    const bool cone = net.count == 1 && net.branches[0].family == tangent_slope && net.bias == 0;
    const int family = cone ? int(tangent_cone) : net.count == 1 ? net.branches[0].family : several;
    const auto run = [&](auto of) {
        constexpr int Family = decltype(of)::value;
        if (wanted == tangent_values) pairs_of<Family, false, false>(net, x, y, i, rows, j, tile, known);
        else if (wanted == tangent_pulled) pairs_of<Family, true, false>(net, x, y, i, rows, j, tile, known);
        else pairs_of<Family, true, true>(net, x, y, i, rows, j, tile, known);
    };
    if (family == tangent_cone) run(Whole<tangent_cone>{});
    else if (family == tangent_slope) run(Whole<tangent_slope>{});
    else if (family == tangent_sine) run(Whole<tangent_sine>{});
    else if (family == tangent_sigmoid) run(Whole<tangent_sigmoid>{});
    else run(Whole<several>{});
}

// --- sums over the other points ------------------------------------------------------------------------------------------

// Of every row two registers, of values and of own_x; then a register for each of few features, or the row of many.
inline int64_t each(const TangentPoints& x) { return 2 * W + (x.features <= tangent_few ? x.features * W : x.stride); }
int64_t kept(const TangentPoints& x) { return R * each(x); }

void weigh(const TangentTile& tile, int64_t rows, int64_t some, const double* weights, int64_t down) {
    for (int64_t r = 0; r < rows; r++, weights += down)
        for (int64_t k = 0; k < J; k += W) {
            double rest[W] = {};  // of what is beyond the last column, and of no weight
            for (int64_t l = 0; k + W > some && k + l < some; l++) rest[l] = weights[k + l];
            const V share = load(k + W > some ? rest : weights + k);
            double* const arrays[] = {tile.values, tile.far, tile.near, tile.own_x};
            for (double* one : arrays) store(one + r * J + k, share * load(one + r * J + k));
        }
}

inline void take_one(const TangentSlopes& found, int64_t from, const TangentTile& tile, int64_t at) {
    const double weighed = found.turn[from] * found.weights[from];
    tile.far[at] = found.near[from] ? 0 : weighed, tile.near[at] = found.near[from] ? weighed : 0;
    tile.own_x[at] = found.own[from] * found.weights[from];
}

void take(const TangentSlopes& found, int64_t at, int64_t down, int64_t across, int64_t rows, int64_t some, const TangentTile& tile) {
    double* const arrays[] = {tile.far, tile.near, tile.own_x};
    for (int64_t r = 0; some < J && r < rows; r++)
        for (double* one : arrays)
            for (int64_t c = some; c < J; c++) one[r * J + c] = 0;
    if (across != 1) {
        for (int64_t c = 0; c < some; c++)
            for (int64_t r = 0; r < rows; r++) take_one(found, at + r * down + c * across, tile, r * J + c);
        return;
    }
    typedef signed char Bytes __attribute__((vector_size(W)));
    for (int64_t r = 0; r < rows; r++) {
        const int64_t from = at + r * down;
        int64_t c = 0;
        for (; c + W <= some; c += W) {
            Bytes bytes;
            __builtin_memcpy(&bytes, found.near + from + c, sizeof bytes);
            const Mask near = __builtin_convertvector(bytes, Mask) != 0;
            const V weights = load(found.weights + from + c), weighed = weights * load(found.turn + from + c);
            store(tile.far + r * J + c, chosen(near, V{}, weighed));
            store(tile.near + r * J + c, chosen(near, weighed, V{}));
            store(tile.own_x + r * J + c, weights * load(found.own + from + c));
        }
        for (; c < some; c++) take_one(found, from + c, tile, r * J + c);
    }
}

inline void draw_few(const TangentPoints& x, const TangentPoints& y, int64_t i, int64_t rows, int64_t j, const TangentTile& tile, double* kept) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t f = 0; f < x.features; f++) {
            double* const into = kept + r * each(x) + (2 + f) * W;
            const V one = all(x.rows[(i + r) * x.features + f]);
            V sum = load(into);
            for (int64_t k = 0; k < J; k += W) {
                const V two = load(y.panels + (j + k) / panel * panel * y.features + f * panel + k % panel);
                sum = fused(load(tile.far + r * J + k), two, fused(load(tile.near + r * J + k), one - two, sum));
            }
            store(into, sum);
        }
}

// Rows times what they are multiplied with, added to C registers of each row: a product of matrices.
template <int Wide>
inline void add_products(const double* far, const double* y, int64_t stride, double* into, int64_t down) {
    V sum[R][Wide];
    for (int r = 0; r < R; r++)
        for (int k = 0; k < Wide; k++) sum[r][k] = load(into + r * down + k * W);
    for (int64_t c = 0; c < J; c++, y += stride) {
        V two[Wide];
        for (int k = 0; k < Wide; k++) two[k] = load(y + k * W);
        for (int r = 0; r < R; r++) {
            const V one = all(far[r * J + c]);
            for (int k = 0; k < Wide; k++) sum[r][k] = fused(one, two[k], sum[r][k]);
        }
    }
    for (int r = 0; r < R; r++)
        for (int k = 0; k < Wide; k++) store(into + r * down + k * W, sum[r][k]);
}

inline void draw_many(const TangentPoints& x, const TangentPoints& y, int64_t i, int64_t rows, int64_t j, const TangentTile& tile, double* kept) {
    const int64_t down = each(x);
    const double* const others = y.padded + j * y.stride;
    int64_t k = 0;
    for (; k + C * W <= x.stride; k += C * W) add_products<C>(tile.far, others + k, y.stride, kept + 2 * W + k, down);
    for (; k < x.stride; k += W) add_products<1>(tile.far, others + k, y.stride, kept + 2 * W + k, down);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < J; c++) {
            const double factor = tile.near[r * J + c];
            if (factor == 0) continue;
            const double *one = x.padded + (i + r) * x.stride, *two = others + c * y.stride;
            double* const into = kept + r * down + 2 * W;
            for (int64_t f = 0; f < x.stride; f += W) store(into + f, fused(all(factor), load(one + f) - load(two + f), load(into + f)));
        }
}

void draw(const TangentPoints& x, const TangentPoints& y, int64_t i, int64_t rows, int64_t j, const TangentTile& tile, double* kept) {
    for (int64_t r = 0; r < rows; r++) {
        double* const into = kept + r * each(x);
        V values = load(into), own = load(into + W);
        for (int64_t k = 0; k < J; k += W) values += load(tile.values + r * J + k), own += load(tile.own_x + r * J + k);
        store(into, values), store(into + W, own);
    }
    if (x.features <= tangent_few) draw_few(x, y, i, rows, j, tile, kept);
    else draw_many(x, y, i, rows, j, tile, kept);
}

void finish(const TangentPoints& x, int64_t row, const double* kept, int64_t place, double scale, double* value, double* gradient) {
    const double* const own = kept + place * each(x);
    const double share = total(load(own + W));
    if (value) *value = total(load(own));
    const bool few = x.features <= tangent_few;
    for (int64_t f = 0; f < x.features; f++) {
        const double sum = few ? total(load(own + (2 + f) * W)) : own[2 * W + f];
        gradient[f] = scale * fused(share, x.rows[row * x.features + f], sum);
    }
}

}  // namespace

extern const TangentTable tangent_table;
const TangentTable tangent_table = {R, J, panel, W, pairs, kept, weigh, take, draw, finish};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
