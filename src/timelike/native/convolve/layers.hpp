// One layer of convolve/table.hpp over some rows of a table: forwards, and what its gradients are made of.
#pragma once
#include "convolve/toom.hpp"

namespace timelike {
namespace {

constexpr int vectors = register_bytes == 64 ? 4 : 2;  // registers of tiles at once
constexpr int group = 6;                               // outputs at once: with them the registers are full
constexpr int64_t span = vectors * W;

inline int64_t rounded(int64_t count) { return (count + W - 1) / W * W; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline void clear(float* from, float* end) {
    for (; from < end; from++) *from = 0;
}

// Where the rows y0 .. y1 of a table lie, with `above` rows before and after them: plane p of a channel is `stride` on.
struct Layout {
    int64_t n, m;        // of the whole table
    int64_t tiles;       // of a row
    int64_t y0, y1, above;
    int64_t stride;
    int64_t strip;       // rows that are transformed together: their values at the points stay in the cache
    int64_t transformed; // from one channel of those to the next

    int64_t at(int64_t y) const { return (y - y0 + above) * tiles; }
    int64_t rows() const { return y1 - y0 + 2 * above; }
};

// Rows beyond the table are zeros, and what a register wrote past the last row goes.
inline void clear_around(const Layout& at, float* planes, int64_t count) {
    for (int64_t p = 0; p < count; p++, planes += at.stride) {
        if (at.at(0) > 0) clear(planes, planes + at.at(0));
        if (at.n - at.y0 + at.above < at.rows()) clear(planes + at.at(at.n), planes + at.stride);
    }
}

// Values at the points of the rows `from` .. `end`, (point, channel, j).
template <int Tile>
void transform(const Layout& at, const Edges& edges, const float* planes, int64_t channels, int64_t from, int64_t end, float* out) {
    const int64_t first = at.at(from), count = (end - from) * at.tiles, point = channels * at.transformed;
    for (int64_t c = 0; c < channels; c++, planes += Tile * at.stride, out += at.transformed)
        for (int64_t j = 0; j < count; j += W) {
            V read[points], values[points];
            columns<Tile>(planes, at.stride, first + j, -((points - Tile) / 2), edges, j, read);
            evaluate(read, values);
            for (int p = 0; p < points; p++) store(out + p * point + j, values[p]);
        }
}

template <int Outputs, int Vectors>
inline void product(const float* weights, const float* values, int64_t inputs, int64_t size, int64_t channel, int64_t row, float* out) {
    V sums[Outputs][Vectors] = {};
    for (int64_t ky = 0; ky < size; ky++, values += row) {
        const float* from = values;
        for (int64_t c = 0; c < inputs; c++, from += channel, weights += Outputs) {
            V read[Vectors];
            for (int v = 0; v < Vectors; v++) read[v] = load(from + v * W);
            for (int o = 0; o < Outputs; o++)
                for (int v = 0; v < Vectors; v++) sums[o][v] = fused(all(weights[o]), read[v], sums[o][v]);
        }
    }
    for (int o = 0; o < Outputs; o++)
        for (int v = 0; v < Vectors; v++) store(out + o * span + v * W, sums[o][v]);
}

template <int Vectors>
inline void product_of(int outputs, const float* weights, const float* values, int64_t inputs, int64_t size, int64_t channel, int64_t row,
                       float* out) {
    switch (outputs) {
        case 6: return product<6, Vectors>(weights, values, inputs, size, channel, row, out);
        case 5: return product<5, Vectors>(weights, values, inputs, size, channel, row, out);
        case 4: return product<4, Vectors>(weights, values, inputs, size, channel, row, out);
        case 3: return product<3, Vectors>(weights, values, inputs, size, channel, row, out);
        case 2: return product<2, Vectors>(weights, values, inputs, size, channel, row, out);
        default: return product<1, Vectors>(weights, values, inputs, size, channel, row, out);
    }
}

// Weights (point, group of outputs, row, input, output of the group) by values (point, input, j) at j .. j + span:
// (point, output, span).
inline void multiply(const Layout& at, const float* weights, const float* values, int64_t inputs, int64_t outputs, int64_t size,
                     int64_t registers, float* out) {
    for (int p = 0; p < points; p++, values += inputs * at.transformed)
        for (int64_t o = 0; o < outputs; o += group) {
            const int some = int(smaller(group, outputs - o));
            float* into = out + (p * outputs + o) * span;
            if (registers == vectors) product_of<vectors>(some, weights, values, inputs, size, at.transformed, at.tiles, into);
            else
                for (int64_t v = 0; v < registers; v++)
                    product_of<1>(some, weights, values + v * W, inputs, size, at.transformed, at.tiles, into + v * W);
            weights += size * inputs * some;
        }
}

// What becomes of a layer's sums: a bias and a ReLU in the table, or the gradient through the ReLU below.
struct Forwards {
    const float* biases;
    const Edges& edges;

    inline V operator()(V sum, int64_t channel, int column, int64_t, int64_t j) const {
        return masked(most(V{}, sum + biases[channel]), edges.column + column * edges.length + j);
    }
};
struct Backwards {
    const float* below;  // its outputs, or null where it has none
    int64_t stride, tile;

    inline V operator()(V sum, int64_t channel, int column, int64_t place, int64_t) const {
        if (!below) return sum;
        return (V)((Bits)sum & (load(below + (channel * tile + column) * stride + place) > V{}));
    }
};

// Rows from .. end of a layer: planes of `inputs` channels to planes of `outputs`.
template <int Tile, class Finish>
void layer(const Layout& at, const Edges& edges, const float* weights, const float* from_planes, int64_t inputs, float* to_planes,
           int64_t outputs, int64_t from, int64_t end, const Finish& finish, float* values, float* sums, const volatile bool* stop) {
    constexpr int64_t size = points + 1 - Tile, reach = size / 2;
    for (int64_t y = from; y < end && !*stop; y += at.strip) {
        const int64_t last = smaller(end, y + at.strip), count = (last - y) * at.tiles;
        transform<Tile>(at, edges, from_planes, inputs, y - reach, last + reach, values);
        for (int64_t j = 0; j < count; j += span) {
            const int64_t registers = (smaller(span, count - j) + W - 1) / W;
            multiply(at, weights, values + j, inputs, outputs, size, registers, sums);
            for (int64_t o = 0; o < outputs; o++)
                for (int64_t v = 0; v < registers; v++) {
                    V m[points], found[Tile];
                    for (int p = 0; p < points; p++) m[p] = load(sums + (p * outputs + o) * span + v * W);
                    interpolate<Tile>(m, found);
                    const int64_t place = at.at(y) + j + v * W;
                    for (int c = 0; c < Tile; c++)
                        store(to_planes + (o * Tile + c) * at.stride + place, finish(found[c], o, c, place, j + v * W));
                }
        }
    }
}

// The last layer, to one output, as it is written down.
template <int Tile, int Last>
void last_layer(const Layout& at, const Edges& edges, const float* weights, float bias, const float* planes, int64_t channels, float* to) {
    constexpr int reach = Last / 2;
    for (int64_t j = 0, count = (at.y1 - at.y0) * at.tiles; j < count; j += W) {
        V sums[Tile];
        for (int c = 0; c < Tile; c++) sums[c] = all(bias);
        const float* from = planes;
        const float* weight = weights;
        for (int64_t k = 0; k < channels; k++, from += Tile * at.stride)
            for (int ky = 0; ky < Last; ky++, weight += Last) {
                V read[Tile + 2 * reach];
                columns<Tile>(from, at.stride, at.at(at.y0 + ky - reach) + j, -reach, edges, j, read);
                for (int c = 0; c < Tile; c++)
                    for (int kx = 0; kx < Last; kx++) sums[c] = fused(all(weight[kx]), read[c + kx], sums[c]);
            }
        for (int c = 0; c < Tile; c++) store(to + c * at.stride + at.at(at.y0) + j, sums[c]);
    }
}

}  // namespace
}  // namespace timelike
