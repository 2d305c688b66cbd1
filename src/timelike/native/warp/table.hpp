// Continuous-time warping: one problem, its answer, and what the instruction-set specific objects do for it.
//
// Both clocks run over [0, 1]. A warp φ has a value at each of x's m times; between two values of y it meets y on the
// straight line. The objective is Σ w_i L(x_i − y(φ_i)) + Σ λ_i Δ_i ((φ_{i+1} − φ_i)/Δ_i − 1)², w the trapezoid rule.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

enum class Penalty : int { squared = 0, absolute = 1, huber = 2 };

struct WarpProblem {
    int64_t m, n, channels;
    const double* x;       // (m, channel)
    const double* y;       // (n, channel)
    const double* t;       // (m) from 0 to 1
    const double* tau;     // (n) from 0 to 1
    const double* lambda;  // (m − 1)
    const double* s_min;   // (m − 1)
    const double* s_max;   // (m − 1), inf where there is none
    const double* b_min;   // (m)
    const double* b_max;   // (m)
    Penalty penalty;
    double delta;          // where Huber's penalty turns from square to straight
    bool free_ends;
};

// Why a warp value cannot move, and why the slope between two cannot change.
enum Pin : int8_t { moves = 0, at_least = 1, at_most = 2, on_kink = 3, at_end = 4, on_crossing = 5 };
enum Glue : int8_t { loose = 0, slowest = -1, fastest = 1 };

// What the backward pass needs to know of a solution.
struct WarpState {
    int8_t* pins;       // (m)
    int8_t* glues;      // (m − 1)
    int32_t* segments;  // (m) which piece of y: between its values k and k + 1
    int32_t* crossing;  // (m) the channel whose difference vanishes, for pins on_crossing
};

struct WarpGradients {
    double *x, *y, *lambda, *s_min, *s_max, *b_min, *b_max;
};

// Values low + j·step, j < count: where φ may be at one knot.
struct Grid {
    double low, step;
};

// From one knot to the next: curvature·(δ − span)² for a move by δ, where least ≤ δ ≤ most.
struct Move {
    double curvature, span, least, most;
};

struct WarpTable {
    // after[k] = min over j of before[j] + the cost of the move, from[k] a j that attains it; inf where no move fits.
    // inverse[d] = 1/d, `stack` has room for three numbers per grid value, and `from` for one more.
    void (*advance)(const double* before, Grid earlier, Grid later, Move move, int64_t count, const double* inverse,
                    double* stack, double* after, uint16_t* from);
    // squared distances of one frame of x to values first .. last of y, given by channel (channel, stride)
    void (*squares)(const double* x, const double* y_by_channel, int64_t stride, int64_t channels, int64_t first,
                    int64_t last, double* into);
    // the signal's cost on grid values first .. end − 1, which lie on a segment of y from `begin` with 1/length `scale`
    void (*add_segment)(Grid grid, int64_t first, int64_t end, double begin, double scale, double a, double b, double c,
                        double* into);
};

TIMELIKE_DECLARE_TABLES(WarpTable, warp_table)

}  // namespace timelike
