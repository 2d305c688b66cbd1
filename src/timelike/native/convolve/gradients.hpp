// Gradients of the weights of convolve/table.hpp's layers, and of what the last layer reads.
#pragma once
#include "convolve/layers.hpp"

namespace timelike {
namespace {

constexpr int most_inputs = register_bytes == 64 ? 8 : 4;  // whose sums fit the registers, two for each

// Σ over `count` tiles of values (tile, input) times gradients (tile, lane), of two registers or one; added to (input, channel).
template <int Inputs, int Registers>
inline void outer(const float* values, const float* gradients, int64_t count, int64_t channels, float* into) {
    V sums[Inputs][Registers];
#pragma GCC unroll 8
    for (int i = 0; i < Inputs; i++)
        for (int r = 0; r < Registers; r++) sums[i][r] = load(into + i * channels + r * W);
    for (int64_t t = 0; t < count; t++, values += W, gradients += W) {
        V gradient[Registers];
        for (int r = 0; r < Registers; r++) gradient[r] = load(gradients + r * together * W);
#pragma GCC unroll 8
        for (int i = 0; i < Inputs; i++) {
            const V value = spread(values[i]);
            for (int r = 0; r < Registers; r++) sums[i][r] = fused(value, gradient[r], sums[i][r]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < Inputs; i++)
        for (int r = 0; r < Registers; r++) store(into + i * channels + r * W, sums[i][r]);
}

template <int Registers, int Inputs = most_inputs>
inline void outer_of(int64_t inputs, const float* values, const float* gradients, int64_t count, int64_t channels, float* into) {
    if constexpr (Inputs > 1)
        if (inputs < Inputs) return outer_of<Registers, Inputs - 1>(inputs, values, gradients, count, channels, into);
    outer<Inputs, Registers>(values, gradients, count, channels, into);
}

// The same at one place, for all inputs, as many at once as fit the registers, and all outputs: into (input, channel).
inline void outer_all(int64_t width, const Workspace& workspace, int h, int64_t count, float* into) {
    const int64_t channels = workspace.registers * W;
    for (int64_t i = 0; i < width; i += most_inputs) {  // which never cross a register of inputs
        const int64_t some = smaller(most_inputs, width - i);
        const float* const values = workspace.values + workspace.within(h, i / W, 0) + i % W;
        for (int64_t r = 0; r < workspace.registers; r += 2) {
            const float* const gradients = workspace.sums + workspace.within(h, r, 0);
            if (r + 1 < workspace.registers) outer_of<2>(some, values, gradients, count, channels, into + i * channels + r * W);
            else outer_of<1>(some, values, gradients, count, channels, into + i * channels + r * W);
        }
    }
}

// Gradients of the outputs of some tiles, transformed along the rows, and their sums for the biases.
template <int Tile>
void transform_rows_back(const Layout at, const float* sheet, const Run run, const Workspace workspace, float* biases) {
    const int64_t row = at.row(), step = workspace.halves_step(), next = workspace.next_half();
    for (int64_t r = 0; r < workspace.registers; r++) {
        V sum = load(biases + r * W);
        const float* from = sheet + at.at(run.y, run.x, r);
        float* into = workspace.half(0, r, run.before);
        for (int64_t t = 0; t < run.count; t++, into += W)
            for (int c = 0; c < Tile; c++, from += W) {
                V read[Tile], found[points];
                for (int i = 0; i < Tile; i++) read[i] = load(from + i * row), sum = sum + read[i];
                interpolate_back<Tile>(read, found);
                for (int p = 0; p < points; p++) store(into + p * step + c * next, found[p]);
            }
        store(biases + r * W, sum);
    }
}

template <int Tile>
void transform_columns_back(int p, int64_t count, const Workspace workspace) {
    const int64_t step = workspace.values_step(), next = workspace.next_half();
    for (int64_t r = 0; r < workspace.registers; r++) {
        const float* from = workspace.half(p, r, 0);
        float* into = workspace.sums + workspace.within(0, r, 0);
        for (int64_t t = 0; t < count; t++, from += W, into += W) {
            V read[Tile], found[points];
            for (int c = 0; c < Tile; c++) read[c] = load(from + c * next);
            interpolate_back<Tile>(read, found);
            for (int h = 0; h < points; h++) store(into + h * step, found[h]);
        }
    }
}

// The gradients of a layer's weights, at the places, and of its biases: of rows from .. end, added to what is there.
template <int Tile>
void weight_gradients(const Layout& at, const float* sheet, int64_t width, const float* gradients, int64_t from, int64_t end, float* into,
                      float* biases, const Workspace& workspace, const volatile bool* stop) {
    in_blocks(from / Tile * at.tiles, end / Tile * at.tiles, stop, [&](int64_t first, int64_t count) {
        row_by_row(at, first, count, [&](const Run& run) {
            transform_rows<Tile>(at, sheet, run, workspace);
            transform_rows_back<Tile>(at, gradients, run, workspace, biases);
        });
        for (int p = 0; p < points; p++) {
            row_by_row(at, first, count, [&](const Run& run) { transform_columns<Tile>(p, run, workspace); });
            transform_columns_back<Tile>(p, count, workspace);
            for (int h = 0; h < points; h++) outer_all(width, workspace, h, count, into + (p * points + h) * width * at.channels());
        }
    });
}

// The same of two inputs, whose values are (tile, point of the columns, table, point of the rows), at four points of the columns: for one
// there would be too few sums to keep the multipliers busy.
inline void first_outer(const float* values, const Workspace workspace, int p, int h, int64_t count, float* into) {
    constexpr int some = 4;
    const int64_t channels = workspace.registers * W, step = workspace.values_step();
    for (int64_t r = 0; r < workspace.registers; r++) {
        const float* gradients = workspace.sums + workspace.within(h, r, 0);
        const float* from = values + h * 2 * points + p;
        V one[some] = {}, two[some] = {};
        for (int64_t t = 0; t < count; t++, from += 2 * places, gradients += W)
#pragma GCC unroll 4
            for (int k = 0; k < some; k++) {
                const V gradient = load(gradients + k * step);
                one[k] = fused(spread(from[k * 2 * points]), gradient, one[k]);
                two[k] = fused(spread(from[k * 2 * points + points]), gradient, two[k]);
            }
        for (int k = 0; k < some; k++) {
            float* const there = into + (p * points + h + k) * 2 * channels + r * W;
            store(there, load(there) + one[k]);
            store(there + channels, load(there + channels) + two[k]);
        }
    }
}

// The same of the first layer, whose inputs are the two tables.
template <int Tile>
void first_weight_gradients(const Layout& at, const Inputs& inputs, const float* gradients, int64_t from, int64_t end, float* into,
                            float* biases, const InputRow& scratch, const Workspace& workspace, const volatile bool* stop) {
    for (int64_t y = from; y < end && !*stop; y += Tile) {
        transform_inputs<Tile>(inputs, y, scratch.lanes_of, scratch.values);
        for (int64_t first = 0; first < at.tiles; first += together) {
            const int64_t count = smaller(together, at.tiles - first);
            transform_rows_back<Tile>(at, gradients, Run{y, first * Tile, count, 0, 0}, workspace, biases);
            for (int p = 0; p < points; p++) {
                transform_columns_back<Tile>(p, count, workspace);
                for (int h = 0; h < points; h += 4) first_outer(scratch.values + first * 2 * places, workspace, p, h, count, into);
            }
        }
    }
}

// What the last layer read, in a sheet or as it was kept.
struct LastInputs {
    const float* values;
    int64_t row, next;  // from one row to the next, and from one register to the next
};

// From the gradient of the one output: that of what the last layer read, through the ReLU, and of its weights. `to` may
// be what was read.
template <int Last>
void last_gradients(const Layout at, const float* weights, const float* output, const LastInputs read, int64_t from, int64_t end, float* to,
                    float* into, const volatile bool* stop) {
    const Layout narrow = at.narrow();
    const int64_t row = narrow.row();
    for (int64_t y = from; y < end && !*stop; y++)
        for (int64_t r = 0; r < at.registers; r++) {
            V by_weight[Last * Last], weight[Last * Last];
            for (int k = 0; k < Last * Last; k++) by_weight[k] = V{}, weight[k] = load(weights + k * at.channels() + r * W);
            const float* const values = read.values + y * read.row + r * read.next;
            const float* const first = output + narrow.at(y + Last / 2, Last / 2);  // to which the first weight leads
            float* const there = to + at.at(y, 0, r);
            for (int64_t x = 0; x < at.m; x++) {
                const V value = load(values + x * W);
                V sum{};
#pragma GCC unroll 25
                for (int k = 0; k < Last * Last; k++) {
                    const V gradient = spread(first[x - k / Last * row - k % Last]);
                    sum = fused(weight[k], gradient, sum);
                    by_weight[k] = fused(value, gradient, by_weight[k]);
                }
                store(there + x * W, (V)((Bits)sum & (value > V{})));
            }
            for (int k = 0; k < Last * Last; k++) {
                float* const sum = into + k * at.channels() + r * W;
                store(sum, load(sum) + by_weight[k]);
            }
        }
}

}  // namespace
}  // namespace timelike
