// The inner loops of the warp's dynamic program, compiled once per instruction set.
#include "machine/simd.hpp"
#include "warp/table.hpp"

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

    // Places are counted in the earlier grid's steps and less the span: origin `late` is better than `early` from
    // (height[late] − height[early]) / (late − early) on, where height[j] = j²/2 + before[j] / (2·curvature·step²).
    int64_t lower(const double* inverse, double* height, double* places, int32_t* origins) const {
        const int64_t usable = earlier.step > 0 ? count : 1;  // origins in one place are one origin
        const double scale = earlier.step > 0 ? 0.5 / (move.curvature * earlier.step * earlier.step) : 0.0;
        for (int64_t j = 0; j < usable; j++) height[j] = fused(scale, before[j], 0.5 * double(int32_t(j)) * double(int32_t(j)));
        const double low = (move.least - move.span - slack) / earlier.step, high = (move.most - move.span + slack) / earlier.step;
        int64_t size = 0;
        for (int64_t j = 0; j < usable; j++) {
            if (!(before[j] < infinity<double>)) continue;
            double place = -infinity<double>;
            while (size > 0) {
                const int32_t top = origins[size - 1];
                place = (height[j] - height[top]) * inverse[j - top];
                place = least(most(place, double(j) + low), double(top) + high);
                if (place > places[size - 1]) break;
                size--, place = -infinity<double>;
            }
            origins[size] = int32_t(j), places[size] = place, size++;
        }
        return size;
    }
};

void advance(const double* before, Grid earlier, Grid later, Move move, int64_t count, const double* inverse,
             double* stack, double* after, uint16_t* from) {
    const Envelope e{before, earlier, later, move, count};
    double *height = stack, *places = stack + count;
    int32_t* origins = reinterpret_cast<int32_t*>(stack + 2 * count);
    const int64_t size = e.lower(inverse, height, places, origins);
    if (size == 0) {
        for (int64_t k = 0; k < count; k++) after[k] = infinity<double>, from[k] = 0;
        return;
    }
    // who serves whom is written down first, without branches: origins increase, so each target has the largest so far
    const double shift = earlier.low + move.span - later.low, targets = 1 / later.step;
    int32_t* firsts = reinterpret_cast<int32_t*>(height);
    for (int64_t s = 0; s < size; s++) {
        // where all targets are in one place the step is 0: infinitely far, or 0 · inf, which `most` turns into 0
        const double target = least(most(fused(places[s], earlier.step, shift) * targets, 0.0), double(count));
        const int32_t whole = int32_t(target);
        firsts[s] = whole + (double(whole) < target);
    }
    for (int64_t k = 0; k <= count; k++) from[k] = 0;
    for (int64_t s = 0; s < size; s++) from[firsts[s]] = uint16_t(origins[s]);
    uint16_t serving = 0;
    for (int64_t k = 0; k < count; k++) from[k] = serving = serving > from[k] ? serving : from[k];
    const double low = move.least - slack, high = move.most + slack, start = later.low - earlier.low;
#pragma GCC ivdep
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
