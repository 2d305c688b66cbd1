// The two inner loops of the warp's dynamic program.
#include "simd.hpp"
#include "warp.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

typedef vec<double> V;
typedef decltype(V{} < V{}) I;  // 64-bit integers, also the answers of comparisons
constexpr int W = lanes<double>;
constexpr double slack = 1e-12;  // a move along a bound must not be lost to rounding

inline int64_t bounded(double value, int64_t low, int64_t high) {
    return value <= double(low) ? low : value >= double(high) ? high : int64_t(value);
}

// The best origin among first .. last for W targets k, k + stride, …; the moves' cost is Monge, so origins grow with k.
struct Group {
    Move move;
    Grid earlier;
    const double* before;
    V target, best;  // targets relative to the first origin and an undisturbed move
    I origin;

    template <bool Checked> inline void offer(int64_t j) {
        const V off = target - earlier.step * double(j);
        V cost = fused(V(move.curvature * off), off, V(V{} + before[j]));
        if constexpr (Checked) {
            const I outside = (off < move.least) | (off > move.most);
            cost = outside ? V{} + infinity<double> : cost;
        }
        const I better = cost < best;
        best = better ? cost : best;
        origin = better ? I{} + j : origin;
    }

    // origins that some target can be reached from, and among them those from which all can
    inline void run(int64_t first, int64_t last) {
        const double low = target[0], high = target[W - 1];
        if (earlier.step > 0) {
            const double scale = 1 / earlier.step;
            const int64_t begin = bounded((low - move.most) * scale - 1, first, last + 1);
            const int64_t end = bounded((high - move.least) * scale + 2, first - 1, last);
            const int64_t all_from = bounded((high - move.most) * scale + 2, begin, end + 1);
            const int64_t all_to = bounded((low - move.least) * scale - 1, begin - 1, end);
            int64_t j = begin;
            for (; j < all_from; j++) offer<true>(j);
            for (; j <= all_to; j++) offer<false>(j);
            for (; j <= end; j++) offer<true>(j);
        } else {
            for (int64_t j = first; j <= last; j++) offer<true>(j);
        }
    }
};

void advance(const double* before, Grid earlier, Grid later, Move move, int64_t count, double* after, uint16_t* from) {
    move.least -= move.span + slack, move.most -= move.span - slack;
    const double start = later.low - earlier.low - move.span;
    V number;
    for (int l = 0; l < W; l++) number[l] = l;
    int64_t stride = 1;
    while (stride * W < count) stride *= W;
    for (int64_t top = stride; stride >= 1; stride /= W) {
        for (int64_t a = 0; a < count; a += stride * W) {
            const int64_t next = a + stride * W;
            const int64_t first = stride == top ? 0 : from[a], last = stride == top || next >= count ? count - 1 : from[next];
            Group group{move, earlier, before, V{}, V{} + infinity<double>, I{} + a};
            group.target = start + later.step * least(V(double(a) + double(stride) * number), V(V{} + double(count - 1)));
            group.run(first, last < first ? first : last);
            for (int l = 0; l < W && a + l * stride < count; l++) {
                from[a + l * stride] = uint16_t(group.origin[l]);
                after[a + l * stride] = group.best[l];
            }
        }
    }
}

void squares(const double* x, const double* y, int64_t stride, int64_t channels, int64_t first, int64_t last, double* into) {
    for (int64_t k = first; k <= last; k++) into[k] = 0;
    for (int64_t c = 0; c < channels; c++) {
        const double value = x[c];
        const double* row = y + c * stride;
        for (int64_t k = first; k <= last; k++) {
            const double difference = row[k] - value;
            into[k] += difference * difference;
        }
    }
}

}  // namespace

extern const WarpTable warp_table;
const WarpTable warp_table = {advance, squares};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
