// Four steps of a convolution together, from its values at the points 0, ±1, ±2, ∞: six rows, a dilation apart, to the
// points; products at the points to four rows; and gradients of four rows to the points.
#pragma once
#include "causal/rows.hpp"

namespace timelike {
namespace {

constexpr int64_t points = causal_points, tile = causal_tile;

inline U8 times(float factor, U8 a, U8 b) { return fused_unit(everywhere<U8>(factor), a, b); }  // factor·a + b

// Six inputs to their values; the weights have the denominators (packed.cpp).
inline void evaluate(const U8 (&d)[points], U8 (&out)[points]) {
    out[0] = times(4, d[0], times(-5, d[2], d[4]));
    const U8 even = times(-4, d[2], d[4]), odd = times(-4, d[1], d[3]);
    out[1] = even + odd, out[2] = even - odd;
    const U8 wide = d[4] - d[2], slanted = d[3] - d[1];
    out[3] = times(2, slanted, wide), out[4] = times(-2, slanted, wide);
    out[5] = times(4, d[1], times(-5, d[3], d[5]));
}

inline void interpolate(const U8 (&m)[points], U8 (&out)[tile]) {
    const U8 near = m[1] + m[2], near_odd = m[1] - m[2], far = m[3] + m[4], far_odd = m[3] - m[4];
    out[0] = m[0] + near + far;
    out[1] = times(2, far_odd, near_odd);
    out[2] = times(4, far, near);
    out[3] = times(8, far_odd, near_odd) + m[5];
}

// The transpose of `interpolate`.
inline void interpolate_back(const U8 (&y)[tile], U8 (&out)[points]) {
    const U8 even = y[0] + y[2], odd = y[1] + y[3], wide = times(4, y[2], y[0]), wide_odd = times(4, y[3], y[1]);
    out[0] = y[0];
    out[1] = even + odd, out[2] = even - odd;
    out[3] = times(2, wide_odd, wide), out[4] = times(-2, wide_odd, wide);
    out[5] = y[3];
}

// The tiles of a sequence: tile n has the steps first(n), first(n) + dilation, … as far as the sequence goes.
struct Tiles {
    int64_t length, dilation;

    int64_t count() const {
        const int64_t whole = length / (tile * dilation), rest = length - whole * tile * dilation;
        return whole * dilation + (rest < dilation ? rest : dilation);
    }
    int64_t first(int64_t n) const { return n / dilation * tile * dilation + n % dilation; }
};

// products of all taps, as they are and by tiles; a tile costs some of its time for the way to the points and back
inline bool by_tiles(int64_t taps, int64_t dilation, int64_t length) {
    if (taps != 3 || length <= dilation) return false;
    const int64_t direct = 3 * length - dilation - (length < 2 * dilation ? length : 2 * dilation);
    return 7 * Tiles{length, dilation}.count() < direct;
}

// A row of the sequence's plane (step, channel padded to units), zeros before it and after it.
struct Plane {
    const float* first;
    int64_t stride, length;
    const float* zeros;

    const float* row(int64_t t) const { return t < 0 || t >= length ? zeros : first + t * stride; }
};

// Tiles from `begin` on to (point, tile, channel): of each the rows from `shift` dilations after its first step on.
inline void to_points(const Plane& plane, const Tiles& tiles, int64_t shift, int64_t begin, int64_t count, int64_t units, float* out) {
    const int64_t width = units * unit;
    for (int64_t n = 0; n < count; n++, out += width) {
        const int64_t t = tiles.first(begin + n) + shift * tiles.dilation;
        const float* rows[points];
        for (int64_t q = 0; q < points; q++) rows[q] = plane.row(t + q * tiles.dilation);
        for (int64_t u = 0; u < width; u += unit) {
            U8 given[points], found[points];
            for (int64_t q = 0; q < points; q++) given[q] = read<U8>(rows[q] + u);
            evaluate(given, found);
            for (int64_t p = 0; p < points; p++) write(out + p * count * width + u, found[p]);
        }
    }
}

// Gradients of the tiles' four rows to (point, tile, channel).
inline void to_points_back(const Plane& plane, const Tiles& tiles, int64_t begin, int64_t count, int64_t units, float* out) {
    const int64_t width = units * unit;
    for (int64_t n = 0; n < count; n++, out += width) {
        const int64_t t = tiles.first(begin + n);
        const float* rows[tile];
        for (int64_t q = 0; q < tile; q++) rows[q] = plane.row(t + q * tiles.dilation);
        for (int64_t u = 0; u < width; u += unit) {
            U8 given[tile], found[points];
            for (int64_t q = 0; q < tile; q++) given[q] = read<U8>(rows[q] + u);
            interpolate_back(given, found);
            for (int64_t p = 0; p < points; p++) write(out + p * count * width + u, found[p]);
        }
    }
}

// Products (point, tile, channel) to rows, and `finish(step, unit, sums)` for each.
template <class Finish>
inline void from_points(const float* products, const Tiles& tiles, int64_t begin, int64_t count, int64_t units, const float* bias,
                        const Finish& finish) {
    const int64_t width = units * unit;
    for (int64_t n = 0; n < count; n++, products += width) {
        const int64_t t = tiles.first(begin + n), left = (tiles.length - t + tiles.dilation - 1) / tiles.dilation;
        for (int64_t u = 0; u < units; u++) {
            U8 given[points], found[tile];
            for (int64_t p = 0; p < points; p++) given[p] = read<U8>(products + p * count * width + u * unit);
            interpolate(given, found);
            const U8 constant = bias ? read<U8>(bias + u * unit) : U8{};
            for (int64_t q = 0; q < tile; q++)
                if (q < left) finish(t + q * tiles.dilation, u, found[q] + constant);
        }
    }
}

}  // namespace
}  // namespace timelike
