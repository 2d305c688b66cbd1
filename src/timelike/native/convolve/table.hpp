// Stacks of convolutions over tables (row, column), from two channels to one: what TAP predicts alignments with.
//
// A convolution along columns is a product of polynomials, which is known from its values at eight points (Toom and
// Cook): a tile of 9 − size columns costs eight products in place of size × (9 − size). Rows and channels are summed as
// they are. Every pair of sequences is taken at its own size, so that padding is not even read.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

constexpr int points = 8;

// Layers but the last have `width` outputs and a ReLU, and one `size`, 5 or 7; the last, of size 3 or 5, has one output.
struct Stack {
    int64_t layers, width, size, last_size;
    const float* const* products;  // (layer but last): transformed weights, in the order of `arranged`, for the way forwards
    const float* const* biases;    // (layer)
    const float* last;             // (width, last_size, last_size)

    int64_t inputs(int64_t layer) const { return layer ? width : 2; }
    int64_t tile() const { return points + 1 - size; }
    int64_t reach(int64_t layer) const { return layer + 1 < layers ? size / 2 : last_size / 2; }
};

// One pair: a table of distances and one of positions, n rows of m columns, rows `stride` apart.
struct Grid {
    const float* distances;
    const float* positions;
    int64_t n, m, stride;
};

// Transformed weights for the gradients, and where the gradients go. Gradients of weights are added to what is there,
// those of the inner layers at the eight points: (layer)(point, row of the kernel, input, output padded to registers).
struct StackGradients {
    const float* const* products;  // (layer but last): turned round, from outputs to inputs; of the first layer to one
    float* const* points;
    float* const* biases;  // (layer)
    float* last;           // (width, last_size, last_size)
};

struct ConvolveTable {
    int lanes;    // floats of a register
    int outputs;  // computed at once: transformed weights are (point, group of so many outputs, row, input, output)
    // numbers of scratch for one worker, and of what is kept for one pair
    int64_t (*scratch)(const Stack&, int64_t n, int64_t m, bool gradients);
    int64_t (*kept)(const Stack&, int64_t n, int64_t m);
    // rows that are computed together; all of them where they are kept
    int64_t (*block)(const Stack&, int64_t n, int64_t m);
    // g of a block of rows into `out`, rows of `stride`; what the gradients need into `keep`, unless it is null
    void (*forward)(const Stack&, const Grid&, int64_t first, float* out, float* keep, float* scratch, const volatile bool* stop);
    // from the gradient of g, laid out as the distances, that of the distances
    void (*backward)(const Stack&, const StackGradients&, const Grid&, const float* gradient, const float* keep, float* out,
                     float* scratch, const volatile bool* stop);
};

TIMELIKE_DECLARE_TABLES(ConvolveTable, convolve_table)

}  // namespace timelike
