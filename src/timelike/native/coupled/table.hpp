// VecPair GRUs that share their weights and blend their new states: one pair of sequences per lane.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

// What every pair shares. The units are taken `block` at a time, those left over one by one; for each group of units the
// weights lie as (from unit, gate r z n c, unit), in the order in which they are read.
template <class T>
struct CoupledCell {
    int64_t hidden;
    const T* weights;   // 4 × hidden × hidden
    const T* candidate; // (hidden) the bias inside the reset
    const T* coupling;  // (hidden)
    bool mean;          // the distance is that of the states averaged over time, else of the last ones
};

// A register full of pairs that share x, with inputs (step, 3 × hidden); those of y are (step, 3 × hidden, lane), any numbers past a
// length.
template <class T>
struct CoupledPairs {
    const T* x;
    const T* y;
    const int64_t* x_lengths;  // (lane), all at least 1
    const int64_t* y_lengths;
    int64_t x_steps, y_steps;  // of the longest, so many there are
};

template <class T>
struct CoupledKernels {
    int lanes, block;  // `block` units share a load of each state; the host packs the weights accordingly
    // the distances (lane); scratch of 4 × hidden × lanes, aligned
    void (*roll)(const CoupledCell<T>&, const CoupledPairs<T>&, T* scratch, T* distances, const volatile bool* stop);
};

struct CoupledTable {
    CoupledKernels<float> f32;
    CoupledKernels<double> f64;
};

TIMELIKE_DECLARE_TABLES(CoupledTable, coupled_table)

}  // namespace timelike
