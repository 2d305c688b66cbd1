// The layers of convolve/table.hpp over some rows of a table. Tables lie in sheets (row, register, column, lane) with zeros
// around them: a register holds neighbouring channels, so that no edge cuts through one.
#pragma once
#include "convolve/toom.hpp"

namespace timelike {
namespace {

constexpr int64_t together = 36;                             // tiles at most whose values at the places stay in the cache
constexpr int most_tiles = register_bytes == 64 ? 12 : 6;    // multiplied at once, by two registers of outputs: the registers are full

inline int64_t rounded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline void clear(float* from, float* end) {
    for (; from < end; from++) *from = 0;
}

// Where the rows from `top` on of a table lie in a sheet.
struct Layout {
    int64_t n, m;      // of the whole table
    int64_t registers, lane;  // of channels, and numbers of each
    int64_t tile, reach, tiles;
    int64_t top, rows;

    int64_t columns() const { return tiles * tile + 2 * reach; }
    int64_t channels() const { return registers * lane; }
    int64_t row() const { return columns() * channels(); }
    int64_t at(int64_t y, int64_t x, int64_t r = 0) const { return (((y - top) * registers + r) * columns() + x + reach) * lane; }
    int64_t size() const { return rows * row(); }
    int64_t bottom() const { return rounded(n, tile); }  // of the last tile
    Layout narrow() const {  // the same table of single numbers
        Layout one = *this;
        one.registers = one.lane = 1;
        return one;
    }
};

// Zeros beyond the table, where no tile is written.
inline void clear_around(const Layout& at, float* sheet) {
    for (int64_t y = at.top; y < at.top + at.rows; y++)
        for (int64_t r = 0; r < at.registers; r++) {
            float* const begin = sheet + at.at(y, -at.reach, r);
            float* const end = begin + at.columns() * at.lane;
            if (y < 0 || y >= at.bottom()) clear(begin, end);
            else clear(begin, begin + at.reach * at.lane), clear(end - at.reach * at.lane, end);
        }
}

// The same, and in the tiles that the table does not fill.
inline void clear_outside(const Layout& at, float* sheet) {
    clear_around(at, sheet);
    for (int64_t y = 0; y < at.bottom(); y++)
        for (int64_t r = 0; r < at.registers; r++)
            clear(sheet + at.at(y, y < at.n ? at.m : 0, r), sheet + at.at(y, at.tiles * at.tile, r));
}

// Scratch for up to `together` tiles. One point of the rows is taken after the other, so that what belongs to its eight
// places stays in the nearest cache. It is handed on by value: of a reference the compiler would read the numbers again
// after every store.
struct Workspace {
    int64_t registers, tile;
    float* columns;        // (point of the rows, register, column, lane): transformed along the rows only
    float* halves;         // (point of the rows, column of a tile, register, tile, lane): so are outputs, and gradients of them
    float *values, *sums;  // (point of the columns, register, tile, lane): inputs and products at eight places

    static constexpr int64_t most_columns = together * points;  // where every tile is in a row of its own

    // from one point to the next: a register is left free, or all of them would fall on few lines of the cache
    int64_t columns_step() const { return (registers * most_columns + 1) * W; }
    int64_t halves_step() const { return (tile * registers * together + 1) * W; }
    int64_t values_step() const { return (registers * together + 1) * W; }
    float* column(int p, int64_t r, int64_t x) const { return columns + p * columns_step() + (r * most_columns + x) * W; }
    float* half(int p, int64_t r, int64_t t) const { return halves + p * halves_step() + (r * together + t) * W; }
    int64_t next_half() const { return registers * together * W; }  // from one column of a tile to the next
    int64_t within(int h, int64_t r, int64_t t) const { return h * values_step() + (r * together + t) * W; }
};

// Some tiles of one row: the first begins at (y, x) of the table, has `before` others before it, and columns from `column` on.
struct Run {
    int64_t y, x, count, before, column;
};

// Tiles are numbered row by row: gives the runs of `count` of them from number `from` on to `use`.
template <class Use>
inline void row_by_row(const Layout& at, int64_t from, int64_t count, const Use& use) {
    for (int64_t done = 0, column = 0; done < count;) {
        const int64_t x = (from + done) % at.tiles, some = smaller(count - done, at.tiles - x);
        use(Run{(from + done) / at.tiles * at.tile, x * at.tile, some, done, column});
        done += some, column += some * at.tile + points - at.tile;
    }
}

template <int Tile>
void transform_rows(const Layout at, const float* sheet, const Run run, const Workspace workspace) {
    const int64_t row = at.row(), step = workspace.columns_step();
    for (int64_t r = 0; r < workspace.registers; r++) {
        const float* from = sheet + at.at(run.y - at.reach, run.x - at.reach, r);
        float* into = workspace.column(0, r, run.column);
        for (int64_t x = 0; x < run.count * Tile + points - Tile; x++, from += W, into += W) {
            V read[points], found[points];
            for (int i = 0; i < points; i++) read[i] = load(from + i * row);
            evaluate(read, found);
            for (int p = 0; p < points; p++) store(into + p * step, found[p]);
        }
    }
}

// The values at the eight places of a point of the rows.
template <int Tile>
void transform_columns(int p, const Run run, const Workspace workspace) {
    const int64_t step = workspace.values_step();
    for (int64_t r = 0; r < workspace.registers; r++) {
        const float* from = workspace.column(p, r, run.column);
        float* into = workspace.values + workspace.within(0, r, run.before);
        for (int64_t t = 0; t < run.count; t++, from += Tile * W, into += W) {
            V read[points], found[points];
            for (int c = 0; c < points; c++) read[c] = load(from + c * W);
            evaluate(read, found);
            for (int h = 0; h < points; h++) store(into + h * step, found[h]);
        }
    }
}

// `Tiles` tiles by `Registers` registers of outputs, at one place: Σ over inputs.
template <int Tiles, int Registers>
inline void product(const float* values, int64_t inputs, const float* weights, int64_t channels, float* out) {
    V sums[Tiles][Registers] = {};
    for (int64_t left = inputs; left > 0; left -= W, values += together * W)
        for (int64_t i = 0, some = smaller(left, W); i < some; i++, weights += channels) {
            V weight[Registers];
            for (int r = 0; r < Registers; r++) weight[r] = load(weights + r * W);
#pragma GCC unroll 12
            for (int t = 0; t < Tiles; t++) {
                const V value = spread(values[t * W + i]);
                for (int r = 0; r < Registers; r++) sums[t][r] = fused(value, weight[r], sums[t][r]);
            }
        }
#pragma GCC unroll 12
    for (int t = 0; t < Tiles; t++)
        for (int r = 0; r < Registers; r++) store(out + (r * together + t) * W, sums[t][r]);
}

template <int Registers, int Tiles = most_tiles>
inline void product_of(int64_t tiles, const float* values, int64_t inputs, const float* weights, int64_t channels, float* out) {
    if constexpr (Tiles > 1)
        if (tiles < Tiles) return product_of<Registers, Tiles - 1>(tiles, values, inputs, weights, channels, out);
    product<Tiles, Registers>(values, inputs, weights, channels, out);
}

// Weights (point of the columns, input, channel) by the values of `count` tiles. No sum depends on how many are taken at once.
inline void multiply(const float* weights, const Workspace& workspace, int64_t inputs, int64_t count) {
    const int64_t channels = workspace.registers * W, parts = (count + most_tiles - 1) / most_tiles;
    for (int h = 0; h < points; h++, weights += inputs * channels)
        for (int64_t r = 0; r < workspace.registers; r += 2)
            for (int64_t part = 0, t = 0; part < parts; part++) {
                const int64_t some = (count - t + parts - part - 1) / (parts - part);  // alike, so that none is slow
                const float* const from = workspace.values + workspace.within(h, 0, t);
                float* const into = workspace.sums + workspace.within(h, r, t);
                if (r + 1 < workspace.registers) product_of<2>(some, from, inputs, weights + r * W, channels, into);
                else product_of<1>(some, from, inputs, weights + r * W, channels, into);
                t += some;
            }
}

template <int Tile>
void inverse_columns(int p, int64_t count, const Workspace workspace) {
    const int64_t step = workspace.values_step(), next = workspace.next_half();
    for (int64_t r = 0; r < workspace.registers; r++) {
        const float* from = workspace.sums + workspace.within(0, r, 0);
        float* into = workspace.half(p, r, 0);
        for (int64_t t = 0; t < count; t++, from += W, into += W) {
            V m[points], found[Tile];
            for (int h = 0; h < points; h++) m[h] = load(from + h * step);
            interpolate<Tile>(m, found);
            for (int c = 0; c < Tile; c++) store(into + c * next, found[c]);
        }
    }
}

// What becomes of a layer's sums, a register of channels at a time: a bias and a ReLU in the table, zeros beyond it;
// or the gradient through the ReLU whose outputs are there, which are zeros beyond the table.
struct Forwards {
    int64_t n, m;
    const float* biases;

    inline V operator()(V sum, int64_t r, int64_t y, int64_t x, const float*) const {
        return y < n && x < m ? most(V{}, sum + load(biases + r * W)) : V{};
    }
};
struct Backwards {
    inline V operator()(V sum, int64_t, int64_t, int64_t, const float* there) const { return (V)((Bits)sum & (load(there) > V{})); }
};

// A column of a tile, from eight points of the rows; `there` is its first row, at (y, x).
template <int Tile, class Finish>
inline void write_column(const V (&m)[points], int64_t r, int64_t y, int64_t x, const Finish& finish, float* there, int64_t row) {
    V found[Tile];
    interpolate<Tile>(m, found);
    for (int i = 0; i < Tile; i++) store(there + i * row, finish(found[i], r, y + i, x, there + i * row));
}

template <int Tile, class Finish>
void inverse_rows(const Layout at, const Run run, const Workspace workspace, const Finish finish, float* sheet) {
    const int64_t row = at.row(), step = workspace.halves_step(), next = workspace.next_half();
    for (int64_t r = 0; r < workspace.registers; r++) {
        const float* from = workspace.half(0, r, run.before);
        float* there = sheet + at.at(run.y, run.x, r);
        for (int64_t t = 0; t < run.count; t++, from += W)
            for (int c = 0; c < Tile; c++, there += W) {
                V m[points];
                for (int p = 0; p < points; p++) m[p] = load(from + p * step + c * next);
                write_column<Tile>(m, r, run.y, run.x + t * Tile + c, finish, there, row);
            }
    }
}

// As many tiles as `together` at most, and none of the blocks much smaller than another.
template <class Use>
inline void in_blocks(int64_t from, int64_t end, const volatile bool* stop, const Use& use) {
    for (int64_t left = (end - from + together - 1) / together; from < end && !*stop; left--) {
        const int64_t count = (end - from + left - 1) / left;
        use(from, count);
        from += count;
    }
}

// A layer from `width` channels to as many, the rows from .. end, which begin and end with tiles.
template <int Tile, class Finish>
void layer(const Layout& at, const float* weights, const float* sheet, int64_t width, float* to, int64_t from, int64_t end,
           const Finish& finish, const Workspace& workspace, const volatile bool* stop) {
    in_blocks(from / Tile * at.tiles, end / Tile * at.tiles, stop, [&](int64_t first, int64_t count) {
        row_by_row(at, first, count, [&](const Run& run) { transform_rows<Tile>(at, sheet, run, workspace); });
        for (int p = 0; p < points; p++) {
            row_by_row(at, first, count, [&](const Run& run) { transform_columns<Tile>(p, run, workspace); });
            multiply(weights + p * points * width * at.channels(), workspace, width, count);
            inverse_columns<Tile>(p, count, workspace);
        }
        row_by_row(at, first, count, [&](const Run& run) { inverse_rows<Tile>(at, run, workspace, finish, to); });
    });
}

// The two tables that the first layer reads: single numbers, one sheet after the other.
struct Inputs {
    Layout at;
    float* sheets;

    static int64_t size(const Layout& narrow) { return 2 * narrow.size() + W; }
};

// Values at the places of the tiles of a row of the two tables: (tile, point of the columns, table, point of the rows).
// `lanes_of` is scratch, (column, table, point of the rows): the columns are transformed in lanes of their own.
template <int Tile>
void transform_inputs(const Inputs inputs, int64_t y, float* lanes_of, float* values) {
    const Layout& at = inputs.at;
    for (int table = 0; table < 2; table++) {
        const float* const from = inputs.sheets + table * at.size() + at.at(y - at.reach, -at.reach);
        for (int64_t x = 0; x < at.columns(); x += W) {
            V read[points], found[points];
            for (int i = 0; i < points; i++) read[i] = load(from + i * at.columns() + x);
            evaluate(read, found);
            for (int l = 0; l < W; l++)
                for (int p = 0; p < points; p++) lanes_of[(x + l) * 2 * points + table * points + p] = found[p][l];
        }
    }
    for (int64_t t = 0; t < at.tiles; t++, values += 2 * places)
        for (int part = 0; part < 2 * points; part += W) {
            V read[points], found[points];
            for (int c = 0; c < points; c++) read[c] = load(lanes_of + (t * Tile + c) * 2 * points + part);
            evaluate(read, found);
            for (int h = 0; h < points; h++) store(values + h * 2 * points + part, found[h]);
        }
}

// Scratch of a row of tiles of the two tables.
struct InputRow {
    float *lanes_of, *values;

    static int64_t lanes_size(const Layout& at) { return (at.columns() + W) * 2 * points; }
    static int64_t values_size(const Layout& at) { return at.tiles * 2 * places; }
};

// `Registers` registers of outputs of a tile of the first layer, whose values (point of the columns, table, point of the rows) are read.
template <int Tile, int Registers>
inline void first_tile(const Layout& at, const float* values, const float* weights, int64_t r, int64_t y, int64_t x, const Forwards& finish,
                       float* to) {
    const int64_t channels = at.channels(), row = at.row(), next = at.columns() * W;
    V halves[Registers][Tile][points];
    for (int p = 0; p < points; p++) {
        V m[Registers][points];
        for (int h = 0; h < points; h++, weights += 2 * channels) {
            const V one = spread(values[h * 2 * points + p]), two = spread(values[h * 2 * points + points + p]);
            for (int k = 0; k < Registers; k++)
                m[k][h] = fused(two, load(weights + channels + k * W), one * load(weights + k * W));
        }
        for (int k = 0; k < Registers; k++) {
            V found[Tile];
            interpolate<Tile>(m[k], found);
            for (int c = 0; c < Tile; c++) halves[k][c][p] = found[c];
        }
    }
    float* const there = to + at.at(y, x, r);
    for (int k = 0; k < Registers; k++)
        for (int c = 0; c < Tile; c++) write_column<Tile>(halves[k][c], r + k, y, x + c, finish, there + k * next + c * W, row);
}

// The first layer, from the two tables: there are too few products to make much of them.
template <int Tile>
void first_layer(const Layout at, const Inputs& inputs, const float* weights, const float* biases, float* to, int64_t from, int64_t end,
                 const InputRow& scratch, const volatile bool* stop) {
    constexpr int some = register_bytes == 64 ? 2 : 1;  // as there are registers for
    const Forwards finish{at.n, at.m, biases};
    for (int64_t y = from; y < end && !*stop; y += Tile) {
        transform_inputs<Tile>(inputs, y, scratch.lanes_of, scratch.values);
        for (int64_t t = 0; t < at.tiles; t++) {
            const float* const values = scratch.values + t * 2 * places;
            int64_t r = 0;
            for (; r + some <= at.registers; r += some) first_tile<Tile, some>(at, values, weights + r * W, r, y, t * Tile, finish, to);
            for (; r < at.registers; r++) first_tile<Tile, 1>(at, values, weights + r * W, r, y, t * Tile, finish, to);
        }
    }
}

// One row of a kernel for W neighbouring columns: number J of what it reads goes to the sums of up to Size of them. Not a loop,
// of which the compiler would keep the sums in memory.
template <int Size, int J = 0, int K = 0>
__attribute__((always_inline)) inline void slide(const float* read, const V (&weight)[Size], V (&sums)[W], V value = V{}) {
    if constexpr (J < W + Size - 1) {
        if constexpr (K == 0) value = load(read + J * W);
        if constexpr (J >= K && J - K < W) sums[J - K] = fused(weight[K], value, sums[J - K]);
        if constexpr (K + 1 < Size) slide<Size, J, K + 1>(read, weight, sums, value);
        else slide<Size, J + 1>(read, weight, sums);
    }
}

// The sums to where loops may look at them.
template <int J = 0>
__attribute__((always_inline)) inline void copied(const V (&sums)[W], V (&to)[W]) {
    to[J] = sums[J];
    if constexpr (J + 1 < W) copied<J + 1>(sums, to);
}

// A convolution to one number, as it is written down: weights (row, column, channel), `out` has rows of `stride`.
template <int Size>
void to_one(const Layout at, const float* sheet, const float* weights, float bias, int64_t from, int64_t end, float* out, int64_t stride,
            const volatile bool* stop) {
    for (int64_t y = from; y < end && !*stop; y++)
        for (int64_t x = 0; x < at.m; x += W) {
            V sums[W] = {}, rows[W];
            for (int ky = 0; ky < Size; ky++)
                for (int64_t r = 0; r < at.registers; r++) {
                    V weight[Size];
                    for (int kx = 0; kx < Size; kx++) weight[kx] = load(weights + (ky * Size + kx) * at.channels() + r * W);
                    slide<Size>(sheet + at.at(y + ky - Size / 2, x - Size / 2, r), weight, sums);
                }
            copied(sums, rows);
            const V found = row_sums<float>(rows) + spread(bias);
            float* const into = out + y * stride + x;
            if (x + W <= at.m) store(into, found);
            else
                for (int l = 0; x + l < at.m; l++) into[l] = found[l];
        }
}

}  // namespace
}  // namespace timelike
