// Polynomials at the points 0, ±1, ±2, ±½, ∞: eight neighbours in a row or a column to their eight values, and back.
#pragma once
#include "convolve/table.hpp"
#include "machine/explog.hpp"
#include "machine/lanes.hpp"

namespace timelike {
namespace {

typedef vec<float> V;
typedef decltype(V{} < V{}) Bits;
constexpr int W = lanes<float>;

// one number in every lane, by one instruction; `all` adds it to zeros, which counts where it is not a constant
#if defined(TIMELIKE_PS)
inline V spread(float value) { return TIMELIKE_PS(set1, value); }
#else
inline V spread(float value) { return all(value); }
#endif

// (d_0 .. d_7), the coefficients, to their values; the weights have the denominators.
inline void evaluate(const V (&d)[points], V (&out)[points]) {
    const V quarter21 = all(5.25f);
    out[0] = fused(quarter21, d[2] - d[4], d[6] - d[0]);
    out[7] = fused(quarter21, d[3] - d[5], d[7] - d[1]);
    const auto both = [&out](int point, V even, V odd) { out[point] = even + odd, out[point + 1] = even - odd; };
    both(1, fused(all(-4.25f), d[4], d[2] + d[6]), fused(all(-4.25f), d[3], d[1] + d[5]));
    both(3, fused(all(-1.25f), d[4], fused(all(0.25f), d[2], d[6])), fused(all(-2.5f), d[3], fused(all(0.5f), d[1], d[5] + d[5])));
    both(5, fused(all(-5.0f), d[4], fused(all(4.0f), d[2], d[6])), fused(all(-2.5f), d[3], fused(all(0.5f), d[5], d[1] + d[1])));
}

// Products at the points to the columns, or the rows, of a tile: Σ over points x of x^column.
template <int Tile>
inline void interpolate(const V (&m)[points], V (&out)[Tile]) {
    const V even[3] = {m[1] + m[2], m[3] + m[4], m[5] + m[6]}, odd[3] = {m[1] - m[2], m[3] - m[4], m[5] - m[6]};
    float power = 1;
    for (int column = 0; column < Tile; column++, power *= 2) {
        const V* part = column % 2 ? odd : even;
        out[column] = fused(all(power), part[1], fused(all(1 / power), part[2], part[0]));
    }
    out[0] = out[0] + m[0];
    out[Tile - 1] = out[Tile - 1] + m[7];
}

// The transpose of `interpolate`: gradients of the columns to gradients of the products.
template <int Tile>
inline void interpolate_back(const V (&d)[Tile], V (&out)[points]) {
    V even[3] = {d[0], d[0], d[0]}, odd[3] = {d[1], d[1] + d[1], d[1] * 0.5f};
    float power = 4;
    for (int column = 2; column < Tile; column++, power *= 2) {
        V* part = column % 2 ? odd : even;
        part[0] = part[0] + d[column];
        part[1] = fused(all(power), d[column], part[1]);
        part[2] = fused(all(1 / power), d[column], part[2]);
    }
    for (int k = 0; k < 3; k++) out[1 + 2 * k] = even[k] + odd[k], out[2 + 2 * k] = even[k] - odd[k];
    out[0] = d[0];
    out[7] = d[Tile - 1];
}

}  // namespace
}  // namespace timelike
