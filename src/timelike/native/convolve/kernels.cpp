// The passes of convolve/table.hpp over one pair, compiled once per instruction set. On the way forwards a table is taken in
// blocks of rows, so that memory does not grow with them; no sum depends on where a block begins.
#include "convolve/gradients.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

constexpr int64_t block_numbers = 1 << 20;  // of a layer's outputs in a block of rows: not small, as rows around a block are computed twice

// Rows around a block that a layer's outputs are needed of: whole tiles of them, of which all eight rows must be right.
int64_t around(const Stack& stack, int64_t layer) {
    int64_t rows = rounded(stack.last_size / 2, stack.tile());
    for (int64_t l = stack.layers - 2; l > layer; l--) rows = rounded(rows + stack.reach(), stack.tile());
    return rows;
}

int64_t block(const Stack& stack, int64_t n, int64_t m) {
    return smaller(rounded(n, stack.tile()), rounded(larger(32, block_numbers / (stack.channels * m)), stack.tile()));
}

// Of the rows from `first` on that are computed together; of all rows where they are as many.
Layout layout(const Stack& stack, int64_t n, int64_t m, int64_t first, int64_t rows) {
    Layout at{n, m, stack.channels, stack.tile(), stack.reach(), (m + stack.tile() - 1) / stack.tile(), 0, 0};
    const int64_t above = rows >= n ? at.reach : around(stack, 0) + at.reach;
    at.top = first - above, at.rows = rounded(rows, at.tile) + 2 * above;
    return at;
}

// Hands out scratch memory, or only counts it; every piece begins on a line of the cache.
struct Memory {
    float* memory;
    int64_t used = 0;

    float* take(int64_t count) {
        float* const given = memory ? memory + used : nullptr;
        used += rounded(count, 16);
        return given;
    }
    // the last registers of outputs are computed from numbers behind the end
    float* sheet(const Layout& at) { return take(at.size() + (W + points) * at.channels); }
};

struct Desk {
    Layout at;
    Inputs inputs;
    InputRow row;
    Values values, sums;

    Desk(const Stack& stack, const Layout& layout, Memory& memory) : at(layout) {
        inputs = {at.narrow(), memory.take(Inputs::size(at.narrow()))};
        row = {memory.take(InputRow::lanes_size(at)), memory.take(InputRow::values_size(at))};
        values = {memory.take(Values::size(stack.channels)), stack.channels / W};
        sums = {memory.take(Values::size(stack.channels)), stack.channels / W};
    }
};

// Rows of a table that are in the block, to a sheet of single numbers.
void copy_in(const Layout& narrow, const float* table, int64_t stride, float* sheet) {
    clear_around(narrow, sheet);
    for (int64_t y = larger(0, narrow.top), end = smaller(narrow.bottom(), narrow.top + narrow.rows); y < end; y++) {
        float* const row = sheet + narrow.at(y, 0);
        const int64_t count = y < narrow.n ? narrow.m : 0;
        for (int64_t x = 0; x < count; x++) row[x] = table[y * stride + x];
        clear(row + count, row + narrow.tiles * narrow.tile);
    }
}

// The outputs of the inner layers below `end`, of the rows that a block needs of each.
template <int Tile>
void inner_layers(const Stack& stack, const Desk& desk, const Grid& grid, float* const* sheets, int64_t end, int64_t y0, int64_t y1,
                  const volatile bool* stop) {
    const Layout &at = desk.at, &narrow = desk.inputs.at;
    copy_in(narrow, grid.distances, grid.stride, desk.inputs.sheets);
    copy_in(narrow, grid.positions, grid.stride, desk.inputs.sheets + narrow.size());
    for (int64_t l = 0; l < end && !*stop; l++) {
        const int64_t from = larger(0, y0 - around(stack, l)), to = smaller(at.bottom(), rounded(y1, Tile) + around(stack, l));
        clear_around(at, sheets[l]);
        if (l == 0) first_layer<Tile>(at, desk.inputs, stack.products[0], stack.biases[0], sheets[0], from, to, desk.row, stop);
        else
            layer<Tile>(at, stack.products[l], sheets[l - 1], stack.width, sheets[l], from, to, Forwards{at, stack.biases[l]}, desk.values,
                        desk.sums, stop);
    }
}

struct Forward {
    Desk desk;
    float* sheets[8];

    // a layer is made of the one below it, so that two sheets are enough
    Forward(const Stack& stack, const Layout& at, Memory& memory) : desk(stack, at, memory) {
        float* const two[2] = {memory.sheet(at), stack.layers > 2 ? memory.sheet(at) : nullptr};
        for (int l = 0; l < 8; l++) sheets[l] = two[l % 2];
    }
};

void keep_rows(const Layout& at, const float* sheet, int64_t y0, int64_t y1, float* keep) {
    for (int64_t y = y0; y < y1; y++)
        for (int64_t k = 0; k < at.m * at.channels; k += W) store(keep + y * at.m * at.channels + k, load(sheet + at.at(y, 0) + k));
}

template <int Tile, int Last>
void forward_block(const Stack& stack, const Forward& f, const Grid& grid, int64_t y0, int64_t y1, float* out, float* keep,
                   const volatile bool* stop) {
    const int64_t top = stack.layers - 1;
    inner_layers<Tile>(stack, f.desk, grid, f.sheets, top, y0, y1, stop);
    to_one<Last>(f.desk.at, f.sheets[top - 1], stack.last, stack.biases[top][0], y0, y1, out, grid.stride, stop);
    if (keep && !*stop) keep_rows(f.desk.at, f.sheets[top - 1], y0, y1, keep);
}

void forward(const Stack& stack, const Grid& grid, int64_t first, float* out, float* keep, float* scratch, const volatile bool* stop) {
    Memory memory{scratch};
    const int64_t rows = block(stack, grid.n, grid.m), end = smaller(grid.n, first + rows);
    const Forward f(stack, layout(stack, grid.n, grid.m, first, rows), memory);
    if (stack.size == 5) forward_block<4, 3>(stack, f, grid, first, end, out, keep, stop);
    else forward_block<2, 5>(stack, f, grid, first, end, out, keep, stop);
}

struct Backward {
    Desk desk;
    float *output, *sheets[8];

    Backward(const Stack& stack, const Layout& at, Memory& memory) : desk(stack, at, memory) {
        output = memory.take(at.narrow().size());
        for (int64_t l = 0; l + 1 < stack.layers; l++) sheets[l] = memory.sheet(at);
    }
};

float sum_of(const Grid& grid, const float* table) {
    double sum = 0;
    for (int64_t y = 0; y < grid.n; y++)
        for (int64_t x = 0; x < grid.m; x++) sum += double(table[y * grid.stride + x]);
    return float(sum);
}

// Gradients take the place of the outputs that they are gradients of, as soon as these are not needed any more.
template <int Tile, int Last>
void backward_pair(const Stack& stack, const StackGradients& wanted, const Backward& b, const Grid& grid, const float* gradient,
                   const float* keep, float* out, const volatile bool* stop) {
    const Layout& at = b.desk.at;
    const int64_t top = stack.layers - 1;
    inner_layers<Tile>(stack, b.desk, grid, b.sheets, keep ? top - 1 : top, 0, at.n, stop);
    copy_in(at.narrow(), gradient, grid.stride, b.output);
    wanted.biases[top][0] += sum_of(grid, gradient);
    float* const uppermost = b.sheets[top - 1];
    const Read read = keep ? Read{keep, at.m * at.channels} : Read{uppermost + at.at(0, 0), at.columns() * at.channels};
    if (keep) clear_outside(at, uppermost);
    last_gradients<Last>(at, stack.last, b.output, read, uppermost, wanted.last, stop);
    for (int64_t l = top - 1; l > 0 && !*stop; l--) {
        weight_gradients<Tile>(at, b.sheets[l - 1], stack.width, b.sheets[l], wanted.places[l], wanted.biases[l], b.desk.values, b.desk.sums,
                               stop);
        layer<Tile>(at, wanted.products[l], b.sheets[l], stack.width, b.sheets[l - 1], 0, at.bottom(), Backwards{}, b.desk.values, b.desk.sums,
                    stop);
    }
    first_weight_gradients<Tile>(at, b.desk.inputs, b.sheets[0], wanted.places[0], wanted.biases[0], b.desk.row, b.desk.sums, stop);
    if (out) to_one<points + 1 - Tile>(at, b.sheets[0], wanted.first, 0, 0, at.n, out, grid.stride, stop);
}

void backward(const Stack& stack, const StackGradients& wanted, const Grid& grid, const float* gradient, const float* keep, float* out,
              float* scratch, const volatile bool* stop) {
    Memory memory{scratch};
    const Backward b(stack, layout(stack, grid.n, grid.m, 0, grid.n), memory);
    if (stack.size == 5) backward_pair<4, 3>(stack, wanted, b, grid, gradient, keep, out, stop);
    else backward_pair<2, 5>(stack, wanted, b, grid, gradient, keep, out, stop);
}

int64_t scratch(const Stack& stack, int64_t n, int64_t m, bool gradients) {
    Memory memory{nullptr};
    if (gradients) Backward(stack, layout(stack, n, m, 0, n), memory);
    else Forward(stack, layout(stack, n, m, 0, block(stack, n, m)), memory);
    return memory.used;
}

}  // namespace

extern const ConvolveTable convolve_table;
const ConvolveTable convolve_table = {W, scratch, block, forward, backward};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
