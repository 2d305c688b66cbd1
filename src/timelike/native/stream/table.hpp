// One query against a stream, sample after sample: subsequence DTW with the start of every path carried along.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"
#include "machine/packed_sequences.hpp"

namespace timelike {

constexpr int widest = 16;  // samples taken together at most

// The query turned round, a row per channel with `widest` zeros at both ends, so that an anti-diagonal reads
// neighbouring values: step i of channel c is reversed[c * stride + widest + length - 1 - i].
struct Query {
    const double* reversed;
    int64_t length, channels, stride;
};

// One sample, or as many as the table takes together. A column has, for every prefix of the query, the best distance of a subsequence that ends
// at the last sample and where that starts. Starts are doubles (exact to 2^53), so that they share the distances' masks.
template <class T>
struct Block {
    Query query;
    const T* samples;  // (time, channel)
    double* lanes;     // scratch of channels × widest
    int64_t first;     // position of the first sample in the stream
    double* distances;
    double* starts;
    // of each sample: the value at the end of the query, its start, and the earliest start in the column
    double* ends;
    double* end_starts;
    double* floors;
};

template <class T>
struct Advances {
    void (*one)(const Block<T>&, Cost);
    void (*many)(const Block<T>&, Cost);
};

struct StreamTable {
    int together;
    Advances<float> f32;
    Advances<double> f64;
};

TIMELIKE_DECLARE_TABLES(StreamTable, stream_table)

}  // namespace timelike
