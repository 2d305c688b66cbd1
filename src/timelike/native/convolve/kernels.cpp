// The passes of convolve/table.hpp over one pair, compiled once per instruction set. A table that is not kept for gradients is
// taken in blocks of rows, so that memory does not grow with them; no sum depends on where a block begins.
#include "convolve/gradients.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

constexpr int64_t cached = 1 << 17;         // numbers of the transformed rows of a strip: half a megabyte, as cores have for themselves
constexpr int64_t block_numbers = 1 << 20;  // of a layer's outputs in a block of rows: not small, as rows around a block are computed twice

int64_t total_reach(const Stack& stack) {
    int64_t reach = 0;
    for (int64_t l = 0; l < stack.layers; l++) reach += stack.reach(l);
    return reach;
}

Layout layout(const Stack& stack, int64_t n, int64_t m, bool whole) {
    Layout at{};
    const int64_t tile = stack.tile(), channels = stack.width > 2 ? stack.width : 2, reach = stack.size / 2;
    at.n = n, at.m = m, at.tiles = (m + tile - 1) / tile;
    const int64_t rows = whole ? n : smaller(n, larger(32, block_numbers / (channels * m)));
    at.y0 = 0, at.y1 = rows;
    at.above = rows == n ? larger(reach, stack.last_size / 2) : total_reach(stack);
    at.stride = rounded(at.rows() * at.tiles) + W;
    at.strip = larger(4, smaller(rows + 2 * at.above, cached / (points * channels * at.tiles)) - 2 * reach);
    at.transformed = rounded((at.strip + 2 * reach) * at.tiles) + span;
    return at;
}

int64_t edges_length(const Layout& at) { return rounded(larger(at.rows(), at.strip + 8) * at.tiles) + span; }
int64_t planes_size(const Layout& at, const Stack& stack, int64_t channels) { return rounded(channels * stack.tile() * at.stride) + 2 * W; }

// Hands out scratch memory, or only counts it.
struct Memory {
    float* memory;
    int64_t used = 0;

    float* take(int64_t count) {
        float* const given = memory ? memory + used : nullptr;
        used += rounded(count);
        return given;
    }
    // planes are read a few numbers before their beginning and behind their end
    float* planes(const Layout& at, const Stack& stack, int64_t channels) {
        float* const given = take(planes_size(at, stack, channels));
        return given ? given + W : nullptr;
    }
};

Edges edges_of(const Layout& at, const Stack& stack, Memory& memory) {
    const int64_t tile = stack.tile(), length = edges_length(at);
    Edges edges{};
    edges.length = length;
    for (int shift = -furthest; shift <= furthest; shift++) {
        int32_t* const mask = reinterpret_cast<int32_t*>(memory.take(length));
        edges.shifted[shift + furthest] = mask;
        if (mask)
            for (int64_t j = 0, t = 0; j < length; j++, t = t + 1 < at.tiles ? t + 1 : 0) mask[j] = -(t + shift >= 0 && t + shift < at.tiles);
    }
    int32_t* const mask = reinterpret_cast<int32_t*>(memory.take(tile * length));
    edges.column = mask;
    if (mask)
        for (int64_t c = 0; c < tile; c++)
            for (int64_t j = 0, t = 0; j < length; j++, t = t + 1 < at.tiles ? t + 1 : 0) mask[c * length + j] = -(t * tile + c < at.m);
    return edges;
}

// Rows of a table that are in the block, to planes.
void take_apart(const Layout& at, int64_t tile, const float* table, int64_t stride, float* planes) {
    const int64_t from = larger(0, at.y0 - at.above), end = smaller(at.n, at.y1 + at.above);
    for (int64_t c = 0; c < tile; c++, planes += at.stride)
        for (int64_t y = from; y < end; y++) {
            float* const row = planes + at.at(y);
            for (int64_t t = 0; t < at.tiles; t++) row[t] = t * tile + c < at.m ? table[y * stride + t * tile + c] : 0.0f;
        }
}

void put_together(const Layout& at, int64_t tile, const float* planes, int64_t stride, float* table) {
    for (int64_t c = 0; c < tile; c++, planes += at.stride)
        for (int64_t y = at.y0; y < at.y1; y++)
            for (int64_t t = 0; t * tile + c < at.m; t++) table[y * stride + t * tile + c] = planes[at.at(y) + t];
}

// What is kept of a pair: the two tables and the outputs of every inner layer.
struct Kept {
    float* input;
    float* outputs[8];

    Kept(const Layout& at, const Stack& stack, Memory& memory) {
        input = memory.planes(at, stack, 2);
        for (int64_t l = 0; l + 1 < stack.layers; l++) outputs[l] = memory.planes(at, stack, stack.width);
    }
    const float* read_by(int64_t layer) const { return layer ? outputs[layer - 1] : input; }
};

template <int Tile, int Last>
void forward_block(const Stack& stack, const Layout& at, const Edges& edges, const Grid& grid, const Kept& kept, float* found, float* values,
                   float* sums, float* out, const volatile bool* stop) {
    take_apart(at, Tile, grid.distances, grid.stride, kept.input);
    take_apart(at, Tile, grid.positions, grid.stride, kept.input + Tile * at.stride);
    clear_around(at, kept.input, 2 * Tile);
    int64_t further = total_reach(stack);
    for (int64_t l = 0; l + 1 < stack.layers; l++) {
        further -= stack.reach(l);  // as many rows around the block as the layers above will read
        const int64_t from = larger(0, at.y0 - further), end = smaller(at.n, at.y1 + further);
        layer<Tile>(at, edges, stack.products[l], kept.read_by(l), stack.inputs(l), kept.outputs[l], stack.width, from, end,
                    Forwards{stack.biases[l], edges}, values, sums, stop);
        clear_around(at, kept.outputs[l], stack.width * Tile);
    }
    if (*stop) return;
    last_layer<Tile, Last>(at, edges, stack.last, stack.biases[stack.layers - 1][0], kept.read_by(stack.layers - 1), stack.width, found);
    put_together(at, Tile, found, grid.stride, out);
}

struct Forward {
    Layout at;
    Edges edges;
    float *found, *values, *sums;

    Forward(const Stack& stack, int64_t n, int64_t m, bool whole, Memory& memory) : at(layout(stack, n, m, whole)) {
        edges = edges_of(at, stack, memory);
        found = memory.planes(at, stack, 1);
        values = memory.take(points * larger(stack.width, 2) * at.transformed + span);
        sums = memory.take(points * stack.width * span);
    }
};

void forward(const Stack& stack, const Grid& grid, int64_t first, float* out, float* keep, float* scratch, const volatile bool* stop) {
    Memory memory{scratch}, kept_memory{keep};
    Forward f(stack, grid.n, grid.m, keep != nullptr, memory);
    const Kept kept(f.at, stack, keep ? kept_memory : memory);
    f.at.y0 = first, f.at.y1 = smaller(grid.n, first + f.at.y1);
    if (stack.size == 5) forward_block<4, 3>(stack, f.at, f.edges, grid, kept, f.found, f.values, f.sums, out, stop);
    else forward_block<2, 5>(stack, f.at, f.edges, grid, kept, f.found, f.values, f.sums, out, stop);
}

struct Backward {
    Layout at;
    Edges edges;
    float *output, *gradients[2], *values, *sums;
    AtPoints at_points;

    Backward(const Stack& stack, int64_t n, int64_t m, Memory& memory) : at(layout(stack, n, m, true)) {
        edges = edges_of(at, stack, memory);
        output = memory.planes(at, stack, 1);
        for (float*& one : gradients) one = memory.planes(at, stack, stack.width);
        values = memory.take(points * larger(stack.width, 2) * at.transformed + span);
        sums = memory.take(points * stack.width * span);
        // sums are free while gradients of weights are made, so both have one place
        at_points = {sums, memory.take(points * span * rounded(stack.width))};
    }
};

template <int Tile, int Last>
void backward_pair(const Stack& stack, const StackGradients& wanted, const Backward& b, const Grid& grid, const float* gradient,
                   const Kept& kept, float* out, const volatile bool* stop) {
    const Layout& at = b.at;
    const int64_t top = stack.layers - 1;
    take_apart(at, Tile, gradient, grid.stride, b.output);
    clear_around(at, b.output, Tile);
    bias_gradients<Tile>(at, b.output, 1, wanted.biases[top]);
    float* now = b.gradients[0];
    float* next = b.gradients[1];
    last_gradients<Tile, Last>(at, b.edges, stack.last, b.output, kept.read_by(top), stack.width, now, wanted.last, stop);
    for (int64_t l = top - 1; l >= 0 && !*stop; l--) {
        clear_around(at, now, stack.width * Tile);
        bias_gradients<Tile>(at, now, stack.width, wanted.biases[l]);
        weight_gradients<Tile>(at, b.edges, kept.read_by(l), stack.inputs(l), now, stack.width, wanted.points[l], b.values, b.at_points,
                               stop);
        const Backwards through{l ? kept.read_by(l) : nullptr, at.stride, Tile};
        layer<Tile>(at, b.edges, wanted.products[l], now, stack.width, next, l ? stack.width : 1, 0, at.n, through, b.values, b.sums,
                    stop);
        float* const swapped = now;
        now = next, next = swapped;
    }
    put_together(at, Tile, now, grid.stride, out);
}

void backward(const Stack& stack, const StackGradients& wanted, const Grid& grid, const float* gradient, const float* keep, float* out,
              float* scratch, const volatile bool* stop) {
    Memory memory{scratch};
    const Backward b(stack, grid.n, grid.m, memory);
    Memory kept_memory{const_cast<float*>(keep)};
    const Kept kept(b.at, stack, kept_memory);
    if (stack.size == 5) backward_pair<4, 3>(stack, wanted, b, grid, gradient, kept, out, stop);
    else backward_pair<2, 5>(stack, wanted, b, grid, gradient, kept, out, stop);
}

int64_t scratch(const Stack& stack, int64_t n, int64_t m, bool gradients) {
    Memory forwards{nullptr}, backwards{nullptr};
    const Forward f(stack, n, m, gradients, forwards);
    if (!gradients) {
        Kept(f.at, stack, forwards);
        return forwards.used;
    }
    Backward(stack, n, m, backwards);
    return larger(forwards.used, backwards.used);
}

int64_t block(const Stack& stack, int64_t n, int64_t m) { return layout(stack, n, m, false).y1; }

int64_t kept(const Stack& stack, int64_t n, int64_t m) {
    Memory memory{nullptr};
    if (m == 0) return 0;
    Kept(layout(stack, n, m, true), stack, memory);
    return memory.used;
}

}  // namespace

extern const ConvolveTable convolve_table;
const ConvolveTable convolve_table = {W, group, scratch, kept, block, forward, backward};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
