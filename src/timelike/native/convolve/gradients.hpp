// Gradients of the weights of convolve/table.hpp's layers, and of what the last layer reads.
#pragma once
#include "convolve/layers.hpp"

namespace timelike {
namespace {

inline float total(V a) {
    float sum = 0;
    for (int l = 0; l < W; l++) sum += a[l];
    return sum;
}

constexpr int most_inputs = register_bytes == 64 ? 10 : 5;  // whose sums fit the registers, two for each

// Σ over `count` tiles of values (input, tile) times gradients (tile, output), added to (input, output).
template <int Inputs>
inline void outer(const float* values, int64_t channel, const float* gradients, int64_t padded, int64_t count, float* into) {
    for (int64_t o = 0; o < padded; o += 2 * W) {
        const bool two = o + W < padded;
        const int64_t next = two ? W : 0;
        V first[Inputs], second[Inputs];
        for (int i = 0; i < Inputs; i++) first[i] = load(into + i * padded + o), second[i] = load(into + i * padded + o + next);
        for (int64_t j = 0; j < count; j++) {
            const V a = load(gradients + j * padded + o), b = load(gradients + j * padded + o + next);
            for (int i = 0; i < Inputs; i++) {
                const V value = all(values[i * channel + j]);
                first[i] = fused(value, a, first[i]), second[i] = fused(value, b, second[i]);
            }
        }
        for (int i = 0; i < Inputs; i++) {
            store(into + i * padded + o, first[i]);
            if (two) store(into + i * padded + o + W, second[i]);
        }
    }
}

inline void outer_of(const float* values, int64_t channel, int64_t inputs, const float* gradients, int64_t padded, int64_t count, float* into) {
    int64_t i = 0;
    for (; i + most_inputs <= inputs; i += most_inputs)
        outer<most_inputs>(values + i * channel, channel, gradients, padded, count, into + i * padded);
    for (; i + 2 <= inputs; i += 2) outer<2>(values + i * channel, channel, gradients, padded, count, into + i * padded);
    if (i < inputs) outer<1>(values + i * channel, channel, gradients, padded, count, into + i * padded);
}

// Gradients (output, tile) at the points, of the tiles from `place` on, as (point, tile, output padded to registers).
template <int Tile>
void tiles_to_points(const Layout& at, const float* gradients, int64_t outputs, int64_t place, int64_t count, float* lines, float* out) {
    const int64_t padded = rounded(outputs);
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t j = 0; j < count; j += W) {
            V read[Tile], at_points[points];
            for (int c = 0; c < Tile; c++) read[c] = load(gradients + (o * Tile + c) * at.stride + place + j);
            interpolate_back<Tile>(read, at_points);
            for (int p = 0; p < points; p++) store(lines + (p * outputs + o) * span + j, at_points[p]);
        }
    for (int64_t p = 0; p < points; p++, out += span * padded)
        for (int64_t j = 0; j < count; j++) {
            for (int64_t o = 0; o < outputs; o++) out[j * padded + o] = lines[(p * outputs + o) * span + j];
            for (int64_t o = outputs; o < padded; o++) out[j * padded + o] = 0;
        }
}

// Scratch of `weight_gradients`: the gradients at the points, output by output and tile by tile.
struct AtPoints {
    float *lines, *tiles;
};

// The gradients of a layer's weights at the points, of all rows, added to `into`; `values` is scratch.
template <int Tile>
void weight_gradients(const Layout& at, const Edges& edges, const float* planes, int64_t inputs, const float* gradients, int64_t outputs,
                      float* into, float* values, const AtPoints& at_points, const volatile bool* stop) {
    constexpr int64_t size = points + 1 - Tile, reach = size / 2;
    const int64_t padded = rounded(outputs);
    for (int64_t y = 0; y < at.n && !*stop; y += at.strip) {
        const int64_t last = smaller(at.n, y + at.strip), tiles = (last - y) * at.tiles;
        transform<Tile>(at, edges, planes, inputs, y - reach, last + reach, values);
        for (int64_t j = 0; j < tiles; j += span) {
            const int64_t count = smaller(span, tiles - j);
            tiles_to_points<Tile>(at, gradients, outputs, at.at(y) + j, count, at_points.lines, at_points.tiles);
            for (int64_t p = 0; p < points; p++)
                for (int64_t ky = 0; ky < size; ky++)
                    outer_of(values + p * inputs * at.transformed + j + ky * at.tiles, at.transformed, inputs,
                             at_points.tiles + p * span * padded, padded, count, into + (p * size + ky) * inputs * padded);
        }
    }
}

template <int Tile>
void bias_gradients(const Layout& at, const float* gradients, int64_t outputs, float* into) {
    for (int64_t o = 0; o < outputs; o++) {
        V sum{};
        for (int c = 0; c < Tile; c++)
            for (int64_t j = 0; j < at.n * at.tiles; j += W) sum = sum + load(gradients + (o * Tile + c) * at.stride + at.at(0) + j);
        into[o] += total(sum);
    }
}

// From the gradient of the one output: that of what the last layer read, through the ReLU, and of its weights.
template <int Tile, int Last>
void last_gradients(const Layout& at, const Edges& edges, const float* weights, const float* output, const float* planes, int64_t channels,
                    float* to, float* into, const volatile bool* stop) {
    constexpr int reach = Last / 2;
    for (int64_t k = 0; k < channels && !*stop; k++) {
        V by_weight[Last * Last] = {};
        for (int64_t j = 0; j < at.n * at.tiles; j += W) {
            V read[Tile], sums[Tile] = {};
            const float* from = planes + k * Tile * at.stride + at.at(0) + j;
            for (int c = 0; c < Tile; c++) read[c] = load(from + c * at.stride);
            for (int ky = 0; ky < Last; ky++) {
                V near[Tile + 2 * reach];  // the outputs that this row of the kernel leads to, last column of it first
                columns<Tile>(output, at.stride, at.at(reach - ky) + j, -reach, edges, j, near);
                for (int kx = 0; kx < Last; kx++) {
                    const V weight = all(weights[(k * Last + ky) * Last + kx]);
                    for (int c = 0; c < Tile; c++) {
                        const V there = near[c + Last - 1 - kx];
                        sums[c] = fused(weight, there, sums[c]);
                        by_weight[ky * Last + kx] = fused(read[c], there, by_weight[ky * Last + kx]);
                    }
                }
            }
            for (int c = 0; c < Tile; c++)
                store(to + (k * Tile + c) * at.stride + at.at(0) + j, (V)((Bits)sums[c] & (read[c] > V{})));
        }
        for (int w = 0; w < Last * Last; w++) into[k * Last * Last + w] += total(by_weight[w]);
    }
}

}  // namespace
}  // namespace timelike
