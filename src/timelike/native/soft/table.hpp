// Soft-DTW along anti-diagonals. Cells (i, d − i) of all lanes lie side by side, lane after lane within row after row, so
// that one loop serves a single pair (a register holds neighbouring rows) and many (it holds pairs). A kernel knows no
// geometry: it is given where the neighbours of its first cell lie. It may read and write a register beyond `count`.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

// The three cells before (or after) each cell of a diagonal, or what flows to them.
template <class P>
struct Predecessors {
    P corner, above, left;
};

template <class T>
struct Softness {
    T gamma, inverse;
};

template <class T>
struct SoftKernels {
    int lanes;
    // squared distances of a register of own frames (channel, …) and those that face it on `count` diagonals, at most 16
    void (*costs)(T* const* out, const T* const* others, int64_t count, int64_t channels, int64_t other_stride,
                  int64_t own_stride, const T* own);
    // totals from the costs in `out` and the totals before them
    void (*forward)(Softness<T>, const Predecessors<const T*>& totals, int64_t count, T* out);
    // `share`, the expected visits of each cell, from the flows out of the cells after it; and its own flows
    void (*backward)(Softness<T>, const Predecessors<const T*>& totals, const Predecessors<const T*>& after, int64_t count, T* share,
                     const Predecessors<T*>& flows);
    // the derivative of the totals in the direction that is in `out`
    void (*tangent)(Softness<T>, const Predecessors<const T*>& totals, const Predecessors<const T*>& tangents, int64_t count, T* out);
    // the derivative of what `backward` gives, beside what it gives
    void (*turn)(Softness<T>, const Predecessors<const T*>& totals, const Predecessors<const T*>& tangents, const Predecessors<const T*>& after,
                 const Predecessors<const T*>& after_tangents, int64_t count, T* share_tangent, const Predecessors<T*>& flows,
                 const Predecessors<T*>& flow_tangents);
    // Σ share · (own − other) over those diagonals, added to the gradient of the own frames
    void (*gather)(T* const* shares, const T* const* others, int64_t count, int64_t channels, int64_t other_stride,
                   int64_t own_stride, const T* own, T* gradient);
    // one row of costs: frame x (channel) against y (channel, step)
    void (*row)(const T* x, const T* y, int64_t channels, int64_t stride, int64_t count, T* out);
};

struct SoftTable {
    SoftKernels<float> f32;
    SoftKernels<double> f64;
};

TIMELIKE_DECLARE_TABLES(SoftTable, soft_table)

}  // namespace timelike
