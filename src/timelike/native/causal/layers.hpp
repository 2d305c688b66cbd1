// One convolution over all steps of a sequence, forwards or backwards in time, and the gradients of its weights.
#pragma once
#include "causal/tiles.hpp"

namespace timelike {
namespace {

constexpr int64_t rows_at_once = 64, tiles_at_once = 64;  // so that what is between two passes stays in the cache

enum class Towards : int64_t { past = -1, future = 1 };  // where the taps are

// Numbers that one convolution, or the gradients of one, needs beside its input and its output.
inline int64_t workspace_size(int64_t inputs, int64_t outputs) {
    return (points * tiles_at_once + rows_at_once) * unit * (causal_units(inputs) + causal_units(outputs));
}

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// Σ of the taps and the bias, for every step `finish(step, unit, sums)`. Taps beyond the ends are left out.
template <class Finish>
void convolve(const CausalLayer& layer, Towards towards, const Plane& in, float* workspace, const volatile bool* stop, const Finish& finish) {
    const int64_t units = causal_units(layer.outputs), width = units * unit, length = in.length, dilation = layer.dilation;
    if (layer.tiles && by_tiles(layer.taps, dilation, length)) {
        const Tiles tiles{length, dilation};
        const int64_t read_width = causal_units(layer.inputs) * unit, total = tiles.count();
        for (int64_t n = 0; n < total && !*stop; n += tiles_at_once) {
            const int64_t count = smaller(tiles_at_once, total - n);
            float* const products = workspace + points * count * read_width;
            to_points(in, tiles, towards == Towards::past ? -2 : 0, n, count, read_width / unit, workspace);
            for (int64_t p = 0; p < points; p++)
                multiply({workspace + p * count * read_width, read_width, 0, 1, layer.inputs}, 1, layer.tiles + p * layer.inputs * width, nullptr,
                         units, count, products + p * count * width, width);
            from_points(products, tiles, n, count, units, layer.bias, finish);
        }
        return;
    }
    for (int64_t t = 0; t < length && !*stop;) {
        // as many steps as reach the same number of taps
        const int64_t away = towards == Towards::past ? t : length - 1 - t, last = (layer.taps - 1) * dilation;
        const int64_t taps = away >= last ? layer.taps : away / dilation + 1;
        int64_t same = length - t;
        if (towards == Towards::past && away < last) same = taps * dilation - away;
        if (towards == Towards::future) same = away >= last ? away - last + 1 : away % dilation + 1;
        const int64_t count = smaller(rows_at_once, smaller(same, length - t));
        multiply({in.first + t * in.stride, in.stride, int64_t(towards) * dilation * in.stride, taps, layer.inputs}, layer.taps,
                 layer.weights, layer.bias, units, count, workspace, width);
        for (int64_t r = 0; r < count; r++)
            for (int64_t u = 0; u < units; u++) finish(t + r, u, read<U8>(workspace + r * width + u * unit));
        t += count;
    }
}

// Σ over steps of what the taps see times the gradients (step, output padded), added to `sums`.
inline void add_gradients(const CausalLayer& layer, const Plane& in, const Plane& gradients, const CausalSums& sums, float* workspace,
                          const volatile bool* stop) {
    const int64_t units = causal_units(layer.outputs), width = units * unit, length = in.length;
    if (layer.tiles && by_tiles(layer.taps, layer.dilation, length)) {
        const Tiles tiles{length, layer.dilation};
        const int64_t read_width = causal_units(layer.inputs) * unit, total = tiles.count();
        for (int64_t n = 0; n < total && !*stop; n += tiles_at_once) {
            const int64_t count = smaller(tiles_at_once, total - n);
            float* const back = workspace + points * count * read_width;
            to_points(in, tiles, -2, n, count, read_width / unit, workspace);
            to_points_back(gradients, tiles, n, count, units, back);
            for (int64_t p = 0; p < points; p++)
                outer(workspace + p * count * read_width, read_width, layer.inputs, back + p * count * width, width, units, count,
                      sums.tiles + p * layer.inputs * width);
        }
        return;
    }
    for (int64_t k = 0; k < layer.taps; k++)
        for (int64_t t = k * layer.dilation; t < length && !*stop; t += 2 * rows_at_once)
            outer(in.first + (t - k * layer.dilation) * in.stride, in.stride, layer.inputs, gradients.first + t * gradients.stride,
                  gradients.stride, units, smaller(2 * rows_at_once, length - t), sums.weights + k * layer.inputs * width);
}

// Σ over rows, added to `into`.
inline void add_rows(const float* rows, int64_t stride, int64_t count, int64_t units, float* into) {
    for (int64_t u = 0; u < units * unit; u += unit)
        for (int64_t r = 0; r < count; r += rows_at_once) {
            U8 sum{};
            for (int64_t k = r; k < smaller(count, r + rows_at_once); k++) sum = sum + read<U8>(rows + k * stride + u);
            write(into + u, read<U8>(into + u) + sum);
        }
}

inline U8 leaky(U8 value, float slope) { return value > U8{} ? value : slope * value; }

// Bit l where lane l of a comparison holds.
typedef int32_t I8 __attribute__((vector_size(32)));
inline uint8_t bits_of(I8 holds) {
#if defined(__AVX2__)
    return uint8_t(_mm256_movemask_ps((__m256)holds));
#else
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= unsigned(holds[l] != 0) << l;
    return uint8_t(bits);
#endif
}
inline uint8_t positives(U8 value) { return bits_of(value > U8{}); }
inline U8 where_positive(uint8_t bits, U8 yes, U8 no) {
    const I8 lane = {1, 2, 4, 8, 16, 32, 64, 128};
    return ((int32_t(bits) & lane) != 0) ? yes : no;
}

}  // namespace
}  // namespace timelike
