// GRUs and LSTMs over many sequences, values and gradients: what the host prepares and the kernels of each instruction set do.
//
// Sequences are sorted by length, so that those that still run are the first rows of every step. Steps are taken in
// chunks whose numbers fit a cache; a chunk's steps are stacked, the rows of one after those of the step before. Every
// matrix with such rows lies in panels of gates × lanes columns, (panel, row, column): rows of a panel are next to each
// other, so that products walk memory in order whichever way they are taken. Units beyond `hidden` are zeros.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

// The weights of one layer, packed; gates are i f g o of an LSTM, r z n of a GRU.
template <class T>
struct RecurrentCell {
    int64_t inputs, hidden;
    const T* input;       // (panel of units, input, gate, lane)
    const T* state;       // (panel of units, state, gate, lane)
    const T* bias;        // (panel of units, gate, lane): both summed, but of a GRU's n the inputs' alone
    const T* fresh;       // (panel of units, lane): of a GRU's n the states'
    const T* input_back;  // (panel of inputs, panel of units, gate, lane, column): from gates back
    const T* state_back;  // (panel of states, panel of units, gate, lane, column)
};

// Steps of some sequences: `counts` says how many run in each; `rows` is their sum.
struct RecurrentChunk {
    const int64_t* counts;
    int64_t steps, rows;
    int64_t sequences;  // of all chunks: the rows of what is carried from one to the next
    bool first;         // whether nothing is before it, and states begin as zeros
};

// What one layer keeps of a chunk, each (panel, row, column): what it read, and what became of it.
template <class T>
struct RecurrentSheet {
    T* inputs;
    T* states;  // before each step
    T* gates;
    T* extra;   // (panel of units, row, lane): before each step an LSTM's c, a GRU's n of states before its reset
};

// Carried from step to step, (panel, sequence, column) and (panel of units, sequence, lane); c is an LSTM's alone.
template <class T>
struct RecurrentState {
    T *h, *c;
};

// Where the gradients of one layer go; those of weights are added to what is there, (panel of units, panel of columns, gate
// and lane, column).
template <class T>
struct RecurrentGradients {
    const T* above;  // by what the layer gave, as a sheet's inputs of the layer above; null for the last layer
    T* below;        // by what it read, or null
    T *gates, *reset;  // (panel of units, row, column) by what goes into the gates; a GRU's by what is reset too
    T *input, *state;
    T *bias, *fresh;  // (panel of units, gate, lane): by the biases of inputs and, of a GRU, of states
};

template <class T>
struct RecurrentKernels {
    int lanes, gates;
    // `above`, where there is a layer above, are its sheet's inputs; `scratch` has a lane of numbers for every sequence
    void (*forward)(const RecurrentCell<T>&, const RecurrentChunk&, const RecurrentSheet<T>&, const RecurrentState<T>&, T* above,
                    T* scratch, const volatile bool* stop);
    // the state holds gradients by the states after the chunk, then by those before it
    void (*backward)(const RecurrentCell<T>&, const RecurrentChunk&, const RecurrentSheet<T>&, const RecurrentState<T>&,
                     const RecurrentGradients<T>&, const volatile bool* stop);
};

struct RecurrentTable {
    RecurrentKernels<float> lstm, gru;
    RecurrentKernels<double> lstm_double, gru_double;
};

TIMELIKE_DECLARE_TABLES(RecurrentTable, recurrent_table)

}  // namespace timelike
