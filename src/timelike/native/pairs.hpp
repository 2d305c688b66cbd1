// Many pairs: tiles over threads. The only place that knows about order, symmetry and scratch memory.
#pragma once
#include <functional>
#include <vector>

#include "table.hpp"

namespace timelike {

// How far a path may stray from the diagonal: everywhere, a number of cells, or a share of the longer sequence.
struct Window {
    int64_t cells = -1;
    double share = -1;

    bool by_length() const { return share >= 0; }
    int64_t radius(int64_t n, int64_t m) const;
    void fill(int64_t n, int64_t m, int32_t* lo, int32_t* hi) const;
};

template <class T>
struct Request {
    Collection<T> x, y;
    bool symmetric;  // y is x: one triangle is computed and mirrored
    Window window;
    Cost cost;
    T* out;  // (x.count, y.count)
    int threads;
};

// Gives false when `poll` asked to stop; `poll` hears how many of how many tiles are done.
template <class T>
bool dtw_pairwise(const Request<T>& request, const Table& table, const std::function<bool(int64_t, int64_t)>& poll);

template <class T>
struct Path {
    std::vector<int64_t> steps;  // (i, j) pairs from the first cell to the last
    T distance;
};

template <class T>
Path<T> dtw_path(const T* x, int64_t n, const T* y, int64_t m, int64_t channels, Window window, Cost cost,
                 const Table& table, const std::function<bool(int64_t, int64_t)>& poll);

}  // namespace timelike
