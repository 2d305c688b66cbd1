// Pairs of sequences: tiles over threads, one pair with its path, nearest neighbours. The only place that knows about
// order, symmetry and scratch memory.
#pragma once
#include <vector>

#include "elastic/band.hpp"
#include "elastic/table.hpp"
#include "machine/pool.hpp"

namespace timelike {

// The program to run and what it reads besides the sequences.
template <class T>
struct Program {
    Recurrence how;
    Window window;
    const T* gap;           // (channel)
    const T* x_thresholds;  // (item); a pair's threshold is the larger of its two
    const T* y_thresholds;
};

template <class T>
struct Request {
    PackedSequences<T> x, y;
    bool symmetric;  // y is x: one triangle is computed and mirrored
    Program<T> program;
    T* out;  // (x.count, y.count)
    int threads;
};

template <class T>
bool pairwise(const Request<T>& request, const Table& table, const Poll& poll);

template <class T>
struct Pair {
    const T *x, *y;
    int64_t n, m, channels;
};

template <class T>
struct Path {
    std::vector<int64_t> steps;  // (i, j) pairs from the first cell to the last
    T distance;
};

// Directions take two bits a cell; where they would exceed `budget` bytes, stretches of rows are made again from rows
// that were kept, and the path is the same.
template <class T>
Path<T> path(const Pair<T>& pair, const Program<T>& program, int64_t budget, const Table& table, const Poll& poll);

// All cells of the program into `out` (n, m), inf outside the band.
template <class T>
bool matrix(const Pair<T>& pair, const Program<T>& program, T* out, const Table& table, const Poll& poll);

// The k nearest items of every query: ids and distances (query, k), nearest first, equal ones by position; `rooted`
// distances are the roots of the totals.
template <class T>
bool search(const PackedSequences<T>& queries, const PackedSequences<T>& items, const Program<T>& program, int64_t k, bool rooted,
            int threads, int64_t* ids, T* distances, const Table& table, const Poll& poll);

// The nearest other of every item under every window, from the narrowest of `bands` to the widest, each inside the next:
// (window, item), of equal ones the first. `totals` (item, item) are those of the widest. `rooted` distances are the roots of
// the totals, `averaged` ones are divided by the sum of both lengths before that.
template <class T>
bool nearest_by_window(const PackedSequences<T>& items, const Program<T>& program, const std::vector<Window>& bands, const T* totals,
                       bool rooted, bool averaged, int threads, int64_t* nearest, const Table& table, const Poll& poll);

// What `search` knows of every pair before it runs the program, (query, item); false where it knows nothing.
template <class T>
bool lower_bounds(const PackedSequences<T>& queries, const PackedSequences<T>& items, const Program<T>& program, T* out,
                  const Table& table);

}  // namespace timelike
