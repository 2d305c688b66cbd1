// Gradients of the weights of convolve/table.hpp's layers, and of what the last layer reads.
#pragma once
#include "convolve/layers.hpp"

namespace timelike {
namespace {

constexpr int most_inputs = register_bytes == 64 ? 8 : 4;  // whose sums fit the registers, two for each

// Σ over `count` tiles of inputs, `Apart` from one to the next, times gradients (tile, lane), of two registers or one; added
// to (input, channel).
template <int Apart, int Inputs, int Registers>
inline void outer(const float* values, int64_t tile, const float* gradients, int64_t count, int64_t channels, float* into) {
    V sums[Inputs][Registers];
#pragma GCC unroll 8
    for (int i = 0; i < Inputs; i++)
        for (int r = 0; r < Registers; r++) sums[i][r] = load(into + i * channels + r * W);
    for (int64_t t = 0; t < count; t++, values += tile, gradients += W) {
        V gradient[Registers];
        for (int r = 0; r < Registers; r++) gradient[r] = load(gradients + r * together * W);
#pragma GCC unroll 8
        for (int i = 0; i < Inputs; i++) {
            const V value = spread(values[i * Apart]);
            for (int r = 0; r < Registers; r++) sums[i][r] = fused(value, gradient[r], sums[i][r]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < Inputs; i++)
        for (int r = 0; r < Registers; r++) store(into + i * channels + r * W, sums[i][r]);
}

template <int Apart, int Registers, int Inputs = most_inputs>
inline void outer_of(int64_t inputs, const float* values, int64_t tile, const float* gradients, int64_t count, int64_t channels, float* into) {
    if constexpr (Inputs > 1)
        if (inputs < Inputs) return outer_of<Apart, Registers, Inputs - 1>(inputs, values, tile, gradients, count, channels, into);
    outer<Apart, Inputs, Registers>(values, tile, gradients, count, channels, into);
}

// The same for all registers of outputs, at one place.
template <int Apart>
inline void outer_all(int64_t inputs, const float* values, int64_t tile, const Values& gradients, int place, int64_t count, float* into) {
    const int64_t registers = gradients.registers;
    for (int64_t r = 0; r < registers; r += 2) {
        const float* const from = gradients.at(place, r, 0);
        if (r + 1 < registers) outer_of<Apart, 2>(inputs, values, tile, from, count, registers * W, into + r * W);
        else outer_of<Apart, 1>(inputs, values, tile, from, count, registers * W, into + r * W);
    }
}

// Gradients of the outputs of some tiles of a row at the places, and their sums for the biases.
template <int Tile>
void transform_back(const Layout& at, const float* sheet, int64_t y, int64_t x, int64_t count, const Values& into, int64_t t, float* biases) {
    for (int64_t r = 0; r < into.registers; r++) {
        V sum = load(biases + r * W);
        for (int64_t k = 0; k < count; k++) {
            V half[Tile][points];
            for (int c = 0; c < Tile; c++) {
                V read[Tile];
                for (int i = 0; i < Tile; i++) read[i] = load(sheet + at.at(y + i, x + k * Tile + c) + r * W), sum = sum + read[i];
                interpolate_back<Tile>(read, half[c]);
            }
            for (int p = 0; p < points; p++) {
                V read[Tile], found[points];
                for (int c = 0; c < Tile; c++) read[c] = half[c][p];
                interpolate_back<Tile>(read, found);
                for (int h = 0; h < points; h++) store(into.at(h * points + p, r, t + k), found[h]);
            }
        }
        store(biases + r * W, sum);
    }
}

// The gradients of a layer's weights, at the places, and of its biases: of all tiles, added to what is there.
template <int Tile>
void weight_gradients(const Layout& at, const float* sheet, int64_t width, const float* gradients, float* into, float* biases,
                      const Values& values, const Values& at_places, const volatile bool* stop) {
    in_blocks(0, at.bottom() / Tile * at.tiles, stop, [&](int64_t first, int64_t count) {
        row_by_row(at, first, count, [&](int64_t y, int64_t x, int64_t some, int64_t t) {
            transform<Tile>(at, sheet, y, x, some, values, t);
            transform_back<Tile>(at, gradients, y, x, some, at_places, t, biases);
        });
        for (int place = 0; place < places; place++)
            for (int64_t i = 0; i < width; i += most_inputs)  // which never cross a register of inputs
                outer_all<1>(smaller(most_inputs, width - i), values.at(place, i / W, 0) + i % W, W, at_places, place, count,
                             into + (place * width + i) * at.channels);
    });
}

// The same of the first layer, whose inputs are the two tables.
template <int Tile>
void first_weight_gradients(const Layout& at, const Inputs& inputs, const float* gradients, float* into, float* biases,
                            const InputRow& scratch, const Values& at_places, const volatile bool* stop) {
    for (int64_t y = 0; y < at.bottom() && !*stop; y += Tile) {
        transform_inputs<Tile>(inputs, y, scratch.lanes_of, scratch.values);
        for (int64_t first = 0; first < at.tiles; first += together) {
            const int64_t count = smaller(together, at.tiles - first);
            transform_back<Tile>(at, gradients, y, first * Tile, count, at_places, 0, biases);
            for (int h = 0; h < points; h++)
                for (int p = 0; p < points; p++)
                    outer_all<points>(2, scratch.values + first * 2 * places + h * 2 * points + p, 2 * places, at_places, h * points + p,
                                      count, into + (h * points + p) * 2 * at.channels);
        }
    }
}

// What the last layer read at one place of a sheet or of what was kept, n rows of m.
struct Read {
    const float* values;
    int64_t row;  // from one to the next
};

// From the gradient of the one output: that of what the last layer read, through the ReLU, and of its weights. `to` may
// be what was read.
template <int Last>
void last_gradients(const Layout& at, const float* weights, const float* output, const Read& read, float* to, float* into,
                    const volatile bool* stop) {
    const Layout narrow = at.narrow();
    for (int64_t y = 0; y < at.n && !*stop; y++)
        for (int64_t r = 0; r < at.channels / W; r++) {
            V by_weight[Last * Last], weight[Last * Last];
            for (int k = 0; k < Last * Last; k++) by_weight[k] = V{}, weight[k] = load(weights + k * at.channels + r * W);
            for (int64_t x = 0; x < at.m; x++) {
                const V value = load(read.values + y * read.row + x * at.channels + r * W);
                V sum{};
                for (int ky = 0; ky < Last; ky++)
                    for (int kx = 0; kx < Last; kx++) {
                        // the output to which this weight leads from here
                        const V there = spread(output[narrow.at(y + Last / 2 - ky, x + Last / 2 - kx)]);
                        sum = fused(weight[ky * Last + kx], there, sum);
                        by_weight[ky * Last + kx] = fused(value, there, by_weight[ky * Last + kx]);
                    }
                store(to + at.at(y, x) + r * W, (V)((Bits)sum & (value > V{})));
            }
            for (int k = 0; k < Last * Last; k++) {
                float* const sum = into + k * at.channels + r * W;
                store(sum, load(sum) + by_weight[k]);
            }
        }
}

}  // namespace
}  // namespace timelike
