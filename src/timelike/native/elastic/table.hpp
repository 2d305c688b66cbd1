// Elastic distances: what a rule says of itself, what a kernel is given, and the table of kernels per instruction set.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "machine/isa.hpp"
#include "machine/packed_sequences.hpp"

namespace timelike {

enum class Rule : int;  // the list of rules is in cells.hpp: here nothing depends on which there are

// What a rule says of itself, where others have to know: `traits` of its struct in cells.hpp, a sum of these. What is not
// said is the slow and safe thing, or the plain one.
struct Trait {
    enum : int {
        twice = 1 << 0,       // the first cell is entered diagonally and would count twice
        looks_back = 1 << 1,  // frames before the current one are read, zeros before the first
        edges = 1 << 2,       // reads Rows::edge and Lanes::edge, which its `edge` makes
        border = 1 << 3,      // row and column -1 are sums of its `edge`; else they are blocked
        threshold = 1 << 4,   // reads the thresholds
        offsets = 1 << 5,     // reads Rows::by_offset, which its `offset` makes
        by_length = 1 << 6,   // the offsets depend on the lengths: the lanes of one register need sequences of one length
        grows = 1 << 7,       // no cell costs less than the least it may come from: a search may give up on the way
        over_boxes = 1 << 8,  // costs at least DTW's squares: keogh_bounds bound it from below
        strips = 1 << 9,      // the strip schedule has it
        missing = 1 << 10,    // values may be missing: cells without data are counted
    };
};

// Which dynamic program: its rule, the cost of two frames, whether the steps of the best path are counted, up to two numbers
// whose meaning the rule knows (cells.hpp), and whether it is told how wide a band the best path needs.
struct Recurrence {
    Rule rule;
    Cost cost;
    bool counted;
    double first, second;
    bool reach = false;
};

// Columns lo[i] ..= hi[i] that row i may visit; both grow with i. Lanes of unequal lengths may have unequal bands: then these
// are the columns that any of them visits, and all of them visit lo_all[i] ..= hi_all[i].
struct Band {
    const int32_t *lo, *hi, *lo_all, *hi_all;
};

// The row sequence of a program, with what the rule needs beside it. For rules that look back, x[-1] is a frame of zeros.
template <class T>
struct Rows {
    const T* x;
    int64_t length;
    int64_t channels;
    const T* edge;       // (length) the cost of a step in x alone
    const T* border;     // (length) the program's column -1; null where it is blocked
    const T* by_offset;  // centre of a table over i - j
    T threshold;         // below it two frames match
};

// As many column sequences as a register has lanes. columns[-1] is a frame of zeros.
template <class T>
struct Lanes {
    const T* columns;     // (length, channel, lane), zeros past the end of a sequence
    const int64_t* lengths;
    int64_t length;       // of the longest
    int used;
    const T* edge;        // (length, lane)
    const T* border;      // (length, lane) the program's row -1; null where it is blocked
    const T* thresholds;  // (lane)
    const T *lo, *hi;     // (row, lane) the band of each; null where all have the same
    const T *above, *below;  // (lane) by how much the band of each is widened on either side of the diagonal
};

// One frame of a sequence whose channels lie `width` apart, and the constant that gaps are compared with.
template <class T>
struct Frame {
    const T* values;
    int64_t channels;
    int width;
    const T* gap;
};

template <class T>
struct Kernels {
    int lanes;
    // a sum of Trait
    int (*traits)(const Recurrence&);
    // into (length + 1, channel, lane) with a frame of zeros first
    void (*interleave)(const PackedSequences<T>&, const int64_t* items, int used, int64_t length, T* into);
    // what the rule needs of one sequence (`width` 1) or of lanes from `first` on: edges and border, each (length, width)
    void (*edges)(const Recurrence&, Frame<T> first, int64_t length, T* edge, T* border);
    // what the rule needs of i - j = -m … n - 1, into (n + m)
    void (*offsets)(const Recurrence&, int64_t n, int64_t m, T* into);
    // `row` is scratch of 2 × (length + 1) × lanes + 16 × channels; `limits` (lane), where given, are distances beyond which nobody
    // asks: when all lanes are beyond, the rest is skipped and inf is the answer. `counts` (lane) are the steps, the reach or
    // the cells without data of the best paths, for the programs that follow them
    void (*sweep)(const Recurrence&, const Rows<T>&, const Lanes<T>&, Band, T* row, T* distances, T* counts,
                  const T* limits, const volatile bool* stop);
    // one pair, x against y (m, channel), both with zeros in front; for rules that have it
    T (*strip)(Cost, const T* x, int64_t n, const T* y, int64_t m, int64_t channels, Band, bool banded, T* scratch,
               const volatile bool* stop);
    // rows first .. last of one pair from the row above them: `row` 2 × (m + 1) + 16 × channels values, changed; two bits of direction
    // per cell into `marks` (row, stride) where given, the cells themselves into `matrix` (row, m) where given
    void (*rows)(const Recurrence&, const Rows<T>&, const Lanes<T>&, Band, int64_t first, int64_t last, T* row,
                 uint8_t* marks, int64_t stride, T* matrix, const volatile bool* stop);
    // squared distance of a query to the box around each lane's sequence at every step, and the other way round
    void (*keogh)(const T* query, const T* query_low, const T* query_high, const T* columns, const T* low, const T* high,
                  int64_t steps, T* bounds);
};

struct Table {
    const char* const* rules;  // their names, in the order of Rule; null ends them
    Kernels<float> f32;
    Kernels<double> f64;
};

TIMELIKE_DECLARE_TABLES(Table, table)

template <class T> const Kernels<T>& kernels(const Table& table);
template <> inline const Kernels<float>& kernels<float>(const Table& table) { return table.f32; }
template <> inline const Kernels<double>& kernels<double>(const Table& table) { return table.f64; }

}  // namespace timelike
