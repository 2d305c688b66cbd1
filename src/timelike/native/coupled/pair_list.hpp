// Coupled GRUs over a list of pairs, forward and back, one pair per lane and a stretch of steps at a time: from one stretch to the
// next only the states are kept, and the backward pass computes the rest of each stretch again.
#pragma once
#include "coupled/table.hpp"

namespace timelike {

// Inputs (step, 3 × hidden, lane), zeros past a length.
template <class T>
struct CoupledStretch {
    const T* x;
    const T* y;
    const int64_t* x_lengths;  // (lane), of the whole sequences
    const int64_t* y_lengths;
    int64_t begin, steps;
};

// What the backward pass through a stretch needs, and what it adds to.
template <class T>
struct CoupledBackward {
    const T* weights;  // as CoupledCell's with states and units exchanged, `width` states at a time, gates n r z c
    const T* scales;   // (lane) the gradient by the distance, in the mean by the distance of every step
    const T* by_gate;  // (lane) the gradient by every gate of the coupling, where both run
    T* states;         // (steps + 1, 2 × hidden, lane), the first are given
    T* gates;          // (steps, 9 × hidden, lane), scratch; in the end the gradients by what goes into the gates: of x new state from
                       // states, reset, update, new state from inputs, then those of y, then the coupling
    T* onward;         // (2 × hidden, lane) the gradient by the states after the stretch, then by those before it
    T* by_weights;     // (4 × hidden, hidden), gates n r z c
    T* by_biases;      // (2 × hidden), candidate and coupling
};

template <class T>
struct CoupledPairKernels {
    int lanes, block, width;
    // values[l] (counts[l]) of every lane into (count, lane), zeros where a lane has less
    void (*lay)(const T* const* values, const int64_t* counts, int64_t count, T* into);
    // the states (2 × hidden, lane) and the sums over time (lane), of distances and of gates, of the steps before become those after;
    // scratch as the states
    void (*forward)(const CoupledCell<T>&, const CoupledStretch<T>&, T* states, T* scratch, T* totals, T* gates);
    void (*write_distances)(const CoupledCell<T>&, const T* states, const T* totals, const int64_t* x_lengths, const int64_t* y_lengths, T* distances);
    // `states` and `gates` have room for `slack` registers more than they hold
    void (*backward)(const CoupledCell<T>&, const CoupledStretch<T>&, const CoupledBackward<T>&);
    // adds gradients (step, lane) that lie `stride` registers apart, to into[l] (steps[l], features)
    void (*scatter)(const T* gradients, int64_t stride, int64_t features, const int64_t* steps, T* const* into);
};

struct CoupledPairTable {
    CoupledPairKernels<float> f32;
    CoupledPairKernels<double> f64;
};

constexpr int64_t coupled_stretch = 32;  // its states and gates stay in the cache; of the rest, one state in 32 steps is kept
constexpr int64_t coupled_slack = 64;    // registers past the end that a last, incomplete block of products may read

TIMELIKE_DECLARE_TABLES(CoupledPairTable, coupled_pair_table)

}  // namespace timelike
