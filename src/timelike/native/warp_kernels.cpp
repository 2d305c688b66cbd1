// The inner loops of the warp's dynamic program.
#include "simd.hpp"
#include "warp.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

constexpr double slack = 1e-12;  // a move along a bound must not be lost to rounding

// Seen from the next knot, each origin j offers a parabola over the targets it can reach. All have the same curvature, so
// of two the earlier origin is better up to some target and the later one from there on; the lower envelope of all is
// found in one pass with a stack. Unlike a search over all origins this is linear in the size of the grid.
struct Envelope {
    const double* before;
    Grid earlier, later;
    Move move;
    int64_t count;
    double inverse_step, half_over_curvature;

    Envelope(const double* values, Grid from, Grid to, Move how, int64_t n)
        : before(values), earlier(from), later(to), move(how), count(n), inverse_step(to.step > 0 ? 1 / to.step : 0),
          half_over_curvature(from.step > 0 ? 0.5 / (how.curvature * from.step) : 0) {}

    double origin(int64_t j) const { return earlier.low + earlier.step * double(j); }

    // the first target from which `late` is no worse than `early`; count if there is none
    int64_t turn(int64_t early, int64_t late, const double* inverse) const {
        const double a = origin(early), b = origin(late);
        double place = move.span + 0.5 * (a + b) + (before[late] - before[early]) * half_over_curvature * inverse[late - early];
        place = least(most(place, b + move.least - slack), a + move.most + slack);
        if (inverse_step == 0) return place <= later.low ? 0 : count;
        const double target = (place - later.low) * inverse_step;
        if (!(target < double(count))) return count;
        if (target <= 0) return 0;
        const int64_t whole = int64_t(target);
        return whole + (double(whole) < target);
    }
};

void advance(const double* before, Grid earlier, Grid later, Move move, int64_t count, const double* inverse,
             int64_t* stack, double* after, uint16_t* from) {
    const Envelope e(before, earlier, later, move, count);
    int64_t *origins = stack, *firsts = stack + count, size = 0;
    const int64_t usable = earlier.step > 0 ? count : 1;  // origins in one place are one origin
    for (int64_t j = 0; j < usable; j++) {
        if (!(before[j] < infinity<double>)) continue;
        int64_t first = 0;
        while (size > 0) {
            first = e.turn(origins[size - 1], j, inverse);
            if (first > firsts[size - 1]) break;
            size--, first = 0;
        }
        if (first >= count) continue;
        origins[size] = j, firsts[size] = first, size++;
    }
    if (size == 0) {
        for (int64_t k = 0; k < count; k++) after[k] = infinity<double>, from[k] = 0;
        return;
    }
    // most origins serve one target: who serves whom is written down first, and the costs are made in a loop without turns
    firsts[size] = count;
    for (int64_t s = 0; s < size; s++)
        for (int64_t k = firsts[s]; k < firsts[s + 1]; k++) from[k] = uint16_t(origins[s]);
    const double low = move.least - slack, high = move.most + slack, start = later.low - earlier.low;
    for (int64_t k = 0; k < count; k++) {
        const int32_t j = from[k];
        const double by = start + (later.step * double(int32_t(k)) - earlier.step * double(j)), off = by - move.span;
        const double cost = fused(move.curvature * off, off, before[j]);
        after[k] = (by < low) | (by > high) ? infinity<double> : cost;
    }
}

void squares(const double* x, const double* y, int64_t stride, int64_t channels, int64_t first, int64_t last, double* into) {
    for (int64_t k = first; k <= last; k++) into[k] = 0;
    for (int64_t c = 0; c < channels; c++) {
        const double value = x[c];
        const double* row = y + c * stride;
        for (int64_t k = first; k <= last; k++) {
            const double difference = row[k] - value;
            into[k] = fused(difference, difference, into[k]);
        }
    }
}

// weight·((1 − a)·A + a·B − a(1 − a)·C) on a segment, A and B the squares at its ends, C the square of y's rise
void add_segment(Grid grid, int64_t first, int64_t end, double begin, double scale, double a, double b, double c,
                 double* into) {
    const double start = (grid.low - begin) * scale, step = grid.step * scale;
    for (int64_t j = first; j < end; j++) {
        const double share = fused(step, double(j), start);
        into[j] += a + share * (b - a - (1 - share) * c);
    }
}

}  // namespace

extern const WarpTable warp_table;
const WarpTable warp_table = {advance, squares, add_segment};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
