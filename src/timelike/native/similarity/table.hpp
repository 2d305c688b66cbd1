// Sums over the hidden units of a perceptron of pairs, Σ_h w_h φ(l_h + r_h) + c with φ the leaky ReLU of slope s. As φ(z) is
// s z + (1 − s) max(z, 0), and max(l + r, 0) is max(l, −r) + r, this is a number of the left row, one of the right row, and
// Σ (1 − s) w max(l, −r): two instructions for every unit of a pair. similarity/__init__.py says it in full.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

// Rows as the kernels read them: of whole registers, and as many as tiles have.
template <class T>
struct SimilarityRows {
    const T* values;        // (row, stride): l, or −r
    const double* offsets;  // (row): what the row adds to all of its pairs
    int64_t count;          // without those that fill up a tile
};

template <class T>
struct SimilarityKernels {
    int64_t (*stride)(int64_t hidden);  // numbers of a row
    int64_t (*filled)(int64_t rows);    // rows of whole tiles
    // of rows x (row, hidden): base + Σ share x
    void (*offsets)(const T* rows, int64_t count, int64_t hidden, const double* share, double base, double* into);
    // rows (row, hidden) times a sign, filled up with zeros
    void (*fill)(const T* rows, int64_t count, int64_t hidden, T sign, T* into);
    // into out[i · down + j · across]; the weights (stride) are times 1 − s and filled up with zeros
    void (*tile)(const SimilarityRows<T>& left, const SimilarityRows<T>& right, const T* weight, int64_t stride, T* out, int64_t down,
                 int64_t across);
};

struct SimilarityTable {
    SimilarityKernels<float> of_float;
    SimilarityKernels<double> of_double;
};

TIMELIKE_DECLARE_TABLES(SimilarityTable, similarity_table)

}  // namespace timelike
