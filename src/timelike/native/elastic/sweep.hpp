// VecPair schedules over any cell.
//
// `sweep`: one pair per lane. One sequence x, read as broadcast scalars, against as many sequences y as the register has
// lanes. Several rows of the program are made in one pass over the columns, so that a column costs one load of y and one
// load and store of the running row, and the cells between stay in registers.
//
// `scalar_rows`: one pair, row by row, with directions or the matrix itself; for paths.
#pragma once
#include "elastic/cells.hpp"

namespace timelike {
namespace {

// as many as there are registers for: each row has its cell on the left and its cost at hand
#if defined(__AVX512F__)
constexpr int rows_per_pass = 8;
#else
constexpr int rows_per_pass = 4;  // sixteen registers
#endif

template <class V, class T> inline void put(V& value, T border) { value = V{} + border; }
template <class V, class T> inline void put(ValueAndSteps<V>& value, T border) { value = {V{} + border, V{}}; }

// the program's row -1
template <class Cell, class T, class V>
inline void begin(const Recurrence& how, Place<T, V>& p, typename Cell::Value* row, const V* border) {
    put(row[-1], V{});
    if constexpr (Cell::traits & Trait::twice) {  // the first cell counts once although it is entered diagonally
        Cell cell = made<Cell>(how);
        p.template pack<Cell, 1>();
        cell.enter(p, 0);
        put(row[-1], V(-cell.cost(0)));
    }
    const V blocked = V{} + __builtin_inff();
    for (int64_t j = 0; j < p.columns; j++) put(row[j], border ? border[j] : blocked);
}

// the value in the lanes whose band the cell is inside of, else blocked
struct Everywhere {};
template <class V> inline V keep(Everywhere, V value, V) { return value; }
template <class V> inline ValueAndSteps<V> keep(Everywhere, ValueAndSteps<V> value, ValueAndSteps<V>) { return value; }
template <class V> inline V keep(bool inside, V value, V blocked) { return inside ? value : blocked; }
template <class V> inline ValueAndSteps<V> keep(bool inside, ValueAndSteps<V> value, ValueAndSteps<V> blocked) { return inside ? value : blocked; }
template <class M, class V> inline V keep(M inside, V value, V blocked) { return inside ? value : blocked; }
template <class M, class V> inline ValueAndSteps<V> keep(M inside, ValueAndSteps<V> value, ValueAndSteps<V> blocked) {
    return {inside ? value.total : blocked.total, inside ? value.steps : blocked.steps};
}

// the border above is the neighbour of row 0 only: further right, below row 0, lies what is outside the band
template <class Value>
inline void leave_border(Value* row, int64_t from, int64_t length) {
    for (int64_t j = from; j < length; j++) put(row[j], __builtin_inff());
}

// R rows from p.i on: `row` holds the row above them on entry and the last of them on return; row[-1] is the border.
template <class Cell, int R, class T, class V>
inline void pass(const Recurrence& how, Place<T, V>& p, typename Cell::Value* row, const Band& band, const V* lane_lo,
                 const V* lane_hi) {
    using Value = typename Cell::Value;
    typedef decltype(V{} < V{}) Mask;
    const int32_t *lo = band.lo + p.i, *hi = band.hi + p.i;
    Cell cell = made<Cell>(how);
    p.template pack<Cell, R>();
    Value blocked, left[R];
    put(blocked, infinity<T>);
    const T* border = p.rows.border;
    for (int r = 0; r < R; r++) {
        left[r] = blocked;
        if (border && lo[r] == 0) put(left[r], border[p.i + r]);
    }
    const int64_t first = lo[0], last = hi[R - 1];
    Value corner = row[first - 1];
    row[first - 1] = blocked;  // below these rows the column is outside the band
    if (border && first == 0) put(row[-1], border[p.i + R - 1]);

    auto column = [&](int64_t j, auto inside) {
        Value above = row[j], diagonal = corner;
        corner = above;
        cell.enter(p, j);
        for (int r = 0; r < R; r++) {
            Value before = left[r];
            above = left[r] = keep(inside(r), cell.value(p, r, j, before, diagonal, above), blocked);
            diagonal = before;
        }
        row[j] = above;
    };
    // Columns that all rows of all lanes visit need no test; before and after them some row is outside its band. A row's left
    // border is its neighbour only at column 0, so a row whose band begins later keeps `blocked` until then.
    const int64_t from = band.lo_all[p.i + R - 1], until = band.hi_all[p.i];
    int64_t j = first;
    auto checked = [&](int64_t end) {
        if (!lane_lo) {
            for (; j < end; j++) column(j, [&](int r) { return j >= lo[r] && j <= hi[r]; });
            return;
        }
        for (; j < end; j++)
            column(j, [&](int r) -> Mask {
                const V here = V{} + T(j);
                return (here >= lane_lo[p.i + r]) & (here <= lane_hi[p.i + r]);
            });
    };
    for (int side = 0; side < 2; side++) {  // one copy of `checked` for both
        checked(side || from > until ? last + 1 : from);
        if (side == 0)
            for (; j <= until; j++) column(j, [](int) { return Everywhere{}; });
    }
    if (p.i == 0) leave_border(row, last + 1, p.columns);
}

template <class V> inline const V& total(const V& value) { return value; }
template <class V> inline const V& total(const ValueAndSteps<V>& value) { return value.total; }

// Whether every used lane has left its limit behind: from here on costs only grow.
template <class Value, class T>
inline bool beyond(const Value* row, int64_t first, int64_t last, const T* limits, int used) {
    vec<T> lowest = vec<T>{} + infinity<T>;
    for (int64_t j = first; j <= last; j++) lowest = least(lowest, total(row[j]));
    for (int l = 0; l < used; l++)
        if (!(lowest[l] > limits[l])) return false;
    return true;
}

template <int N> struct Number { static constexpr int value = N; };

// never inlined: what the compiler makes of one rule must not depend on which others there are
#define TIMELIKE_ALONE __attribute__((noinline)) void

template <template <int> class Cell, class T>
TIMELIKE_ALONE sweep_cell(const Recurrence& how, const Rows<T>& x, const Lanes<T>& y, Band band, T* scratch, T* distances,
                          T* counts, const T* limits, const volatile bool* stop) {
    using V = vec<T>;
    using Value = typename Cell<1>::Value;
    // two numbers a cell fill the registers with half as many rows
    constexpr int R = sizeof(Value) > sizeof(V) ? rows_per_pass / 2 : rows_per_pass, W = lanes<T>;
    const V *lane_lo = (const V*)y.lo, *lane_hi = (const V*)y.hi;
    Value* row = (Value*)scratch + 1;
    Place<T, V> place{x, 0, y.length, (const V*)y.columns, (const V*)y.edge, V{}, scratch + 2 * (y.length + 1) * W};
    begin<Cell<1>>(how, place, row, (const V*)y.border);
    if (y.thresholds)
        for (int l = 0; l < W; l++) place.threshold[l] = most(y.thresholds[l], x.threshold);
    if (how.reach) place.above = load<T>(y.above), place.below = load<T>(y.below);
    bool early = false;
    for (; place.i + R <= x.length && !*stop && !early; place.i += R) {
        pass<Cell<R>, R>(how, place, row, band, lane_lo, lane_hi);
        const int64_t last = place.i + R - 1;
        early = limits && beyond(row, band.lo[last], band.hi[last], limits, y.used);
    }
    auto rest = [&](auto rows) {
        constexpr int S = decltype(rows)::value;
        if (place.i + S > x.length || *stop || early) return;
        pass<Cell<S>, S>(how, place, row, band, lane_lo, lane_hi);
        place.i += S;
    };
    // what is left of the rows, in powers of two: one pass of each size at most
    if constexpr (R > 4) rest(Number<4>{});
    if constexpr (R > 2) rest(Number<2>{});
    rest(Number<1>{});
    for (int l = 0; l < y.used; l++) {
        const Value& last = row[y.lengths[l] - 1];
        distances[l] = early ? infinity<T> : total(last)[l];
        if constexpr (sizeof(Value) > sizeof(V)) counts[l] = last.steps[l];
    }
}

template <class Cell, class T>
TIMELIKE_ALONE scalar_rows(const Recurrence& how, const Rows<T>& x, const Lanes<T>& y, Band band, int64_t first_row,
                           int64_t last_row, T* scratch, uint8_t* marks, int64_t stride, T* matrix,
                           const volatile bool* stop) {
    using Value = typename Cell::Value;
    Value* row = (Value*)scratch + 1;
    Value blocked;
    put(blocked, infinity<T>);
    Place<T, T> place{x, 0, y.length, y.columns, y.edge,
                      y.thresholds ? most(y.thresholds[0], x.threshold) : T(0), scratch + 2 * (y.length + 1)};
    if (first_row == 0) begin<Cell>(how, place, row, y.border);
    for (place.i = first_row; place.i < last_row && !*stop; place.i++) {
        Cell cell = made<Cell>(how);
        place.template pack<Cell, 1>();
        const int64_t first = band.lo[place.i], last = band.hi[place.i];
        Value corner = row[first - 1], before = blocked;
        row[first - 1] = blocked;
        if (x.border && first == 0) {
            put(before, x.border[place.i]);
            put(row[-1], x.border[place.i]);
        }
        uint8_t* mark = marks ? marks + (place.i - first_row) * stride : nullptr;
        if (mark)
            for (int64_t k = 0; k < stride; k++) mark[k] = 0;
        for (int64_t j = first; j <= last; j++) {
            const Value above = row[j];
            cell.enter(place, j);
            if (mark) {
                const uint8_t way = cell.way(place, 0, j, before, corner, above);
                mark[(j - first) / 4] |= uint8_t(way << (2 * ((j - first) % 4)));
            }
            before = row[j] = cell.value(place, 0, j, before, corner, above);
            corner = above;
            // a total may have a sign only where it marks a cell without data
            const T shown = Cell::traits & Trait::missing ? magnitude(total(before)) : total(before);
            if (matrix) matrix[(place.i - first_row) * y.length + j] = shown;
        }
        if (place.i == 0) leave_border(row, last + 1, y.length);
    }
}

}  // namespace
}  // namespace timelike
