// The passes of convolve/table.hpp over one pair, compiled once per instruction set. On the way forwards a table is taken in
// blocks of rows, so that memory does not grow with them; no sum depends on where a block begins.
#include "convolve/gradients.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

constexpr int64_t block_numbers = 1 << 21;  // of a layer's outputs in a block of rows: rows around a block are computed twice, and more memory is slow to get

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
    Layout at{n, m, stack.channels / W, W, stack.tile(), stack.reach(), (m + stack.tile() - 1) / stack.tile(), 0, 0};
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
    float* sheet(const Layout& at) { return take(at.size() + (W + points) * W); }
};

// What every pass over a pair needs.
struct Place {
    Layout at;
    Inputs inputs;
    InputRow row;
    Workspace workspace;

    Place(const Layout& layout, Memory& memory) : at(layout) {
        inputs = {at.narrow(), memory.take(Inputs::size(at.narrow()))};
        row = {memory.take(InputRow::lanes_size(at)), memory.take(InputRow::values_size(at))};
        workspace.registers = at.registers, workspace.tile = at.tile;
        workspace.columns = memory.take(points * workspace.columns_step());
        workspace.halves = memory.take(points * workspace.halves_step());
        workspace.values = memory.take(points * workspace.values_step());
        workspace.sums = memory.take(points * workspace.values_step());
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

// How far a layer, or a step of the backward pass, has come: rows that begin and end with tiles.
struct Rows {
    int64_t done, end;

    bool through() const { return done >= end; }
    // as far as rows are ready of which it reads `reach` more than it writes
    int64_t limit(const Rows& ready, int64_t reach, int64_t tile) const {
        return ready.through() ? end : smaller(end, larger(done, (ready.done - reach) / tile * tile));
    }
};

// The inner layers below `layers`, of the rows that a block needs of each: one strip after the other, so that what a layer reads
// is still in the cache.
template <int Tile>
class Inner {
  public:
    Inner(const Stack& stack, const Place& place, const Grid& grid, float* const* sheets, int64_t layers, int64_t y0, int64_t y1)
        : stack_(stack), place_(place), sheets_(sheets), layers_(layers), strip_((together + place.at.tiles - 1) / place.at.tiles * Tile) {
        const Layout& narrow = place.inputs.at;
        copy_in(narrow, grid.distances, grid.stride, place.inputs.sheets);
        copy_in(narrow, grid.positions, grid.stride, place.inputs.sheets + narrow.size());
        for (int64_t l = 0; l < larger(1, layers); l++) {
            rows[l] = {larger(0, y0 - around(stack, l)), smaller(place.at.bottom(), rounded(y1, Tile) + around(stack, l))};
            if (l < layers) clear_around(place.at, sheets[l]);
        }
    }
    void advance(const volatile bool* stop) {
        const Layout& at = place_.at;
        const int64_t next = smaller(rows[0].end, rows[0].done + strip_);
        if (layers_ > 0) first_layer<Tile>(at, place_.inputs, stack_.products[0], stack_.biases[0], sheets_[0], rows[0].done, next, place_.row, stop);
        rows[0].done = next;
        for (int64_t l = 1; l < layers_; l++) {
            const int64_t limit = rows[l].limit(rows[l - 1], at.reach, Tile);
            layer<Tile>(at, stack_.products[l], sheets_[l - 1], stack_.width, sheets_[l], rows[l].done, limit, Forwards{at.n, at.m, stack_.biases[l]},
                        place_.workspace, stop);
            rows[l].done = limit;
        }
    }
    Rows rows[8];

  private:
    const Stack& stack_;
    const Place& place_;
    float* const* sheets_;
    int64_t layers_, strip_;
};

struct Forward {
    Place place;
    float* sheets[8];

    Forward(const Stack& stack, const Layout& at, Memory& memory) : place(at, memory) {
        for (int64_t l = 0; l + 1 < stack.layers; l++) sheets[l] = memory.sheet(at);
    }
};

// Past the caches, where the address allows it: a long time goes by before it is read.
inline void put_away(float* into, V value) {
    if (reinterpret_cast<uintptr_t>(into) % sizeof(V)) return store(into, value);
#if defined(__AVX512F__)
    _mm512_stream_ps(into, (__m512)value);
#elif defined(__AVX2__)
    _mm256_stream_ps(into, (__m256)value);
#elif defined(__SSE2__)
    _mm_stream_ps(into, (__m128)value);
#else
    store(into, value);
#endif
}

// Before another thread may look.
inline void await_put_away() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

void keep_row(const Layout& at, const float* sheet, int64_t y, float* keep) {
    keep += y * at.m * at.channels();
    for (int64_t r = 0; r < at.registers; r++) {
        const float* const from = sheet + at.at(y, 0, r);
        for (int64_t x = 0; x < at.m; x++, keep += W) put_away(keep, load(from + x * W));
    }
}

template <int Tile, int Last>
void forward_block(const Stack& stack, const Forward& f, const Grid& grid, int64_t y0, int64_t y1, float* out, float* keep,
                   const volatile bool* stop) {
    const int64_t top = stack.layers - 1;
    const float* const uppermost = f.sheets[top - 1];
    Inner<Tile> inner(stack, f.place, grid, f.sheets, top, y0, y1);
    for (Rows last{y0, y1}; !last.through() && !*stop;) {
        inner.advance(stop);
        for (const int64_t limit = last.limit(inner.rows[top - 1], Last / 2, 1); last.done < limit; last.done++) {
            to_one<Last>(f.place.at, uppermost, stack.last, stack.biases[top][0], last.done, last.done + 1, out, grid.stride, stop);
            if (keep) keep_row(f.place.at, uppermost, last.done, keep);
        }
    }
    if (keep) await_put_away();
}

void forward(const Stack& stack, const Grid& grid, int64_t first, float* out, float* keep, float* scratch, const volatile bool* stop) {
    Memory memory{scratch};
    const int64_t rows = block(stack, grid.n, grid.m), end = smaller(grid.n, first + rows);
    const Forward f(stack, layout(stack, grid.n, grid.m, first, rows), memory);
    if (stack.size == 5) forward_block<4, 3>(stack, f, grid, first, end, out, keep, stop);
    else forward_block<2, 5>(stack, f, grid, first, end, out, keep, stop);
}

struct Backward {
    Place place;
    float *output, *sheets[8];

    Backward(const Stack& stack, const Layout& at, Memory& memory) : place(at, memory) {
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

// The steps of the backward pass follow each other from strip to strip, too. Gradients take the place of the outputs that they are
// gradients of, as soon as these are not needed any more.
template <int Tile, int Last>
void backward_pair(const Stack& stack, const StackGradients& wanted, const Backward& b, const Grid& grid, const float* gradient,
                   const float* keep, float* out, const volatile bool* stop) {
    const Layout& at = b.place.at;
    const Workspace& workspace = b.place.workspace;
    const int64_t top = stack.layers - 1, reach = at.reach, bottom = at.bottom();
    float* const uppermost = b.sheets[top - 1];
    const LastInputs read = keep ? LastInputs{keep, at.m * at.channels(), at.m * W} : LastInputs{uppermost + at.at(0, 0), at.row(), at.columns() * W};
    Inner<Tile> inner(stack, b.place, grid, b.sheets, keep ? top - 1 : top, 0, at.n);
    if (keep) clear_outside(at, uppermost);
    copy_in(at.narrow(), gradient, grid.stride, b.output);
    wanted.biases[top][0] += sum_of(grid, gradient);
    Rows by_sheet[8], by_weight[8], first{0, bottom}, distances{0, at.n};
    for (int l = 0; l < 8; l++) by_sheet[l] = by_weight[l] = {0, bottom};
    while (!(first.through() && distances.through()) && !*stop) {
        inner.advance(stop);
        Rows& last = by_sheet[top - 1];
        const int64_t ready = last.limit(inner.rows[keep ? larger(0, top - 2) : top - 1], 0, Tile);
        last_gradients<Last>(at, stack.last, b.output, read, last.done, smaller(at.n, ready), uppermost, wanted.last, stop);
        last.done = ready;
        for (int64_t l = top - 1; l > 0; l--) {
            const int64_t weighed = smaller(by_weight[l].limit(by_sheet[l], 0, Tile), by_weight[l].limit(inner.rows[l - 1], reach, Tile));
            weight_gradients<Tile>(at, b.sheets[l - 1], stack.width, b.sheets[l], by_weight[l].done, weighed, wanted.places[l],
                                   wanted.biases[l], workspace, stop);
            by_weight[l].done = weighed;
            Rows& below = by_sheet[l - 1];
            const int64_t limit = smaller(below.limit(by_sheet[l], reach, Tile), below.limit(by_weight[l], reach, Tile));
            layer<Tile>(at, wanted.products[l], b.sheets[l], stack.width, b.sheets[l - 1], below.done, limit, Backwards{}, workspace, stop);
            below.done = limit;
        }
        const int64_t limit = first.limit(by_sheet[0], 0, Tile), rows = distances.limit(by_sheet[0], reach, 1);
        first_weight_gradients<Tile>(at, b.place.inputs, b.sheets[0], first.done, limit, wanted.places[0], wanted.biases[0], b.place.row, workspace,
                                     stop);
        first.done = limit;
        if (out) to_one<points + 1 - Tile>(at, b.sheets[0], wanted.first, 0, distances.done, rows, out, grid.stride, stop);
        distances.done = rows;
    }
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
