// Stacks of convolutions over tables (row, column), from two channels to one: what TAP predicts alignments with.
//
// A convolution is a product of polynomials in two variables, which is known from its values at eight points of each
// (Toom and Cook, nested): a tile of 9 − size rows and columns costs 64 products in place of size² (9 − size)². Channels
// are summed as they are. Every pair of sequences is taken at its own size, so that padding is not even read.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

constexpr int points = 8;                // of one variable
constexpr int places = points * points;  // a point of the rows times 8 plus one of the columns

// Layers but the last have `width` outputs and a ReLU, and one `size`, 5 or 7; the last, of size 3 or 5, has one output.
// Channels are padded with zeros to whole registers: `channels` of them.
struct Stack {
    int64_t layers, width, channels, size, last_size;
    const float* const* products;  // (layer but last): transformed weights, (place, input, channel)
    const float* const* biases;    // (layer): (channel), of the last one number
    const float* last;             // (row, column, channel)

    int64_t inputs(int64_t layer) const { return layer ? width : 2; }
    int64_t tile() const { return points + 1 - size; }
    int64_t reach() const { return size / 2; }
};

// One pair: a table of distances and one of positions, n rows of m columns, rows `stride` apart.
struct Grid {
    const float* distances;
    const float* positions;
    int64_t n, m, stride;
};

// Transformed weights for the gradients, and where the gradients go: they are added to what is there, those of the inner
// layers at the places.
struct StackGradients {
    const float* const* products;  // (layer but first and last): turned round, (place, output, input padded)
    const float* first;            // of the first layer, to the distances: turned round, (row, column, channel)
    float* const* places;          // (layer but last): (place, input, channel)
    float* const* biases;          // (layer): as the biases
    float* last;                   // (row, column, channel)
};

struct ConvolveTable {
    int lanes;  // floats of a register
    // numbers of scratch for one worker
    int64_t (*scratch)(const Stack&, int64_t n, int64_t m, bool gradients);
    // rows that are computed together
    int64_t (*block)(const Stack&, int64_t n, int64_t m);
    // g of a block of rows into `out`, rows of `stride`; what the last layer reads into `keep`, (row, register, column, lane), unless it is null
    void (*forward)(const Stack&, const Grid&, int64_t first, float* out, float* keep, float* scratch, const volatile bool* stop);
    // from the gradient of g, laid out as the distances, that of the distances; what is not kept is computed again
    void (*backward)(const Stack&, const StackGradients&, const Grid&, const float* gradient, const float* keep, float* out,
                     float* scratch, const volatile bool* stop);
};

TIMELIKE_DECLARE_TABLES(ConvolveTable, convolve_table)

}  // namespace timelike
