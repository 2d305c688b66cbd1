// Kernels of networks of infinite width. Of two points a layer knows the variances a and b of what its units take in, their
// covariance c, and D = a + b − 2c. tangent/__init__.py says what is found; fallback_layers.py has the same formulas, with names.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

// A cone is a network of two slopes without bias: multiples of points are as alike as the points, times the factors, and only
// the angle between them goes through the layers.
enum TangentFamily : int { tangent_slope, tangent_sine, tangent_sigmoid, tangent_cone };

struct TangentBranch {
    int family;
    double odd, even;  // w² times the squares of the parts of φ(z) = odd z + even |z|, for activations of two slopes
};

struct TangentNet {
    const TangentBranch* branches;
    int64_t count, depth;
    double square, bias;  // w², and what biases add to a variance after a layer that is not the last
    double scale, first;  // w²/d and b²: from sums over features to the first variances
    double snap;          // times a rounding error: what 1 − cos θ of parallel vectors may be
    bool tangent;
};

// What is known of one point before a layer. One whose variance is 0 has 0 as the inverse of its root.
enum TangentField : int {
    tangent_variance,
    tangent_root,
    tangent_inverse,
    tangent_grown,  // the derivative of its variance by that before the first layer
    tangent_decay,  // exp(−2a)
    tangent_wide,   // √(1 + 2A), A = 2a/2.402…²
    tangent_turn,   // asin(A / (1 + A))
    tangent_over,   // 1 / (1 + A)
    tangent_lever,  // grown times the inverse of the root, and of its square
    tangent_share,
    tangent_fields
};

constexpr int64_t tangent_few = 16;  // features up to which sums over them are differences at once, and lanes are points

// Points as the kernels read them: as rows (x) and as columns (y).
struct TangentPoints {
    int64_t count, features;
    int64_t stride;          // of `padded`: features in whole registers
    int64_t filled;          // columns in whole tiles
    const double* rows;      // (count, features), as they came
    const double* padded;    // (filled, stride); only of more than a few features
    const double* panels;    // (filled / panel, features, panel)
    const double* by_row;    // (count, depth + 1, field)
    const double* by_column; // (depth + 1, field, filled)
};

enum TangentWanted : int { tangent_values, tangent_pulled, tangent_all };

// Numbers of `rows` × `columns` pairs, each array (rows, columns). `far` and `near` are `turn` where a pair is that, else 0.
struct TangentTile {
    double *values, *far, *near, *own_x, *own_y;
};

// What was found before and is to be drawn together, all in the same order.
struct TangentSlopes {
    const double *turn, *own, *weights;
    const bool* near;
};

struct TangentTable {
    int64_t rows, columns, panel, width;
    // of rows from i (fewer than a tile at the end) and columns from j, a multiple of `columns`
    void (*pairs)(const TangentNet&, const TangentPoints& x, const TangentPoints& y, int64_t i, int64_t rows, int64_t j, TangentWanted,
                  const TangentTile&, double* sums);
    int64_t (*kept)(const TangentPoints& x);  // doubles of the sums of a tile of rows
    // the tile times weights (some of its columns have one, from column to column beside each other, from row to row `down` apart)
    void (*weigh)(const TangentTile&, int64_t rows, int64_t some, const double* weights, int64_t down);
    // a tile of what was found before, times weights: element (r, c) is at `at` + r · down + c · across; one of both is 1
    void (*take)(const TangentSlopes&, int64_t at, int64_t down, int64_t across, int64_t rows, int64_t some, const TangentTile&);
    // Σ over the columns of a tile onto what was kept: values, own_x, and what the other points are multiplied with
    void (*draw)(const TangentPoints& x, const TangentPoints& y, int64_t i, int64_t rows, int64_t j, const TangentTile&, double* kept);
    // sums of a row into its value (or nowhere) and its gradient
    void (*finish)(const TangentPoints& x, int64_t row, const double* kept, int64_t place, double scale, double* value, double* gradient);
};

TIMELIKE_DECLARE_TABLES(TangentTable, tangent_table)

}  // namespace timelike
