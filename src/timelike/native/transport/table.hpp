// Entropic transport: the plan exp(f_i + g_j − C_ij/ε) whose rows sum to 1/n and whose columns sum to 1/m.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"
#include "machine/packed_sequences.hpp"

namespace timelike {

constexpr int64_t transport_lanes = 16;  // a row of a matrix is this many doubles, or a multiple

// What the ground cost has besides the frames, with r = i/n − j/m and positions counted from 1:
// C = D − similarity/(r² + 1) + spread r²/(1/n² + 1/m²) + weight |r|.
struct Prior {
    double similarity, spread, weight;
    bool counted;  // the cost of a plan is ⟨T, C⟩, else ⟨T, D⟩
};

// One pair, n ≥ m, with its scratch memory. Matrices have rows of `stride` doubles, those past m meaningless.
struct Transport {
    int64_t n, m, stride;
    double* costs;    // (n, stride)
    double* plan;     // (n, stride)
    double* normal;   // (stride, stride), for Newton's step
    double* vectors;  // 5 × stride + 2 × n
    double epsilon, tolerance;
    int64_t rounds;
    const volatile bool* stop;
};

// Some rows of a plan a_i b_j exp(f_i + g_j − C_ij · shrink) of weighted points, and where its sums are added.
struct PlanTile {
    const double* cost;    // (rows, stride), infinite past the columns that there are
    int64_t rows, stride;
    int64_t width;         // of whole registers: the numbers of a row that belong to the tile
    const double *f, *a;   // (rows): potentials in units of ε, and weights
    const double *g, *b;   // (width), anything and 0 past the columns
    double shrink;         // 1/ε
    int64_t shared;        // so many columns, the first, are the rows themselves, all of these, or 0; add by_row and by_column
    double *by_row, *by_column;  // Σ_j b_j exp(…) of each row, and Σ_i a_i exp(…) of each column, (width)
};

struct TransportTable {
    // squared, plain or Manhattan distances of x (n, channel) and y (channel, stride) into (n, stride)
    void (*frames)(Cost, const double* x, const double* y, int64_t channels, int64_t n, int64_t stride, double* into);
    // into C from D, both (n, stride)
    void (*ground)(const Prior&, const double* frames, int64_t n, int64_t m, int64_t stride, double* into);
    // the plan from the costs; gives the deviation of its marginals, Σ_i |Σ_j T_ij − 1/n| + Σ_j |Σ_i T_ij − 1/m|
    double (*scale)(const Transport&);
    // T ∘ (G − α − β) with rows and columns summing to zero into `costs`, which holds G; α and β are free
    void (*project)(const Transport&);
    double (*inner)(const double* a, const double* b, int64_t n, int64_t m, int64_t stride);
};

struct PlanTable {
    void (*sums)(const PlanTile&);  // added to those that are there
};

TIMELIKE_DECLARE_TABLES(TransportTable, transport_table)
TIMELIKE_DECLARE_TABLES(PlanTable, plan_table)

}  // namespace timelike
