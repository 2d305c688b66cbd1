// The rollout of coupled/table.hpp, compiled once per instruction set.
#include "coupled/step.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

template <class T>
void roll(const CoupledCell<T>& cell, const CoupledPairs<T>& pairs, T* scratch, T* distances, const volatile bool* stop) {
    constexpr int W = lanes<T>;
    const int64_t hidden = cell.hidden, x_stride = 3 * hidden, y_stride = x_stride * W;
    const auto [common, last] = extent(pairs.x_lengths, pairs.y_lengths, W);
    vec<T>* now = reinterpret_cast<vec<T>*>(scratch);
    vec<T>* next = now + 2 * hidden;
    for (int64_t k = 0; k < 2 * hidden; k++) now[k] = vec<T>{};
    vec<T> total{};
    for (int64_t t = 0; t < last; t++) {
        if (*stop) return;
        const States<T> h{now, now + hidden, next, next + hidden};
        // where there is nothing any more, the last step is read and not used
        const T* x = pairs.x + (t < pairs.x_steps ? t : pairs.x_steps - 1) * x_stride;
        const T* y = pairs.y + (t < pairs.y_steps ? t : pairs.y_steps - 1) * y_stride;
        if (t < common) {
            step<true, false>(cell, x, y, h, ActiveLanes<T>{});
            if (cell.mean) total += apart<T>(next, next + hidden, hidden);
        } else {
            const ActiveLanes<T> runs = active_lanes<T>(t, pairs.x_lengths, pairs.y_lengths);
            step<true, true>(cell, x, y, h, runs);
            if (cell.mean) total += (vec<T>)((Mask<T>)apart<T>(next, next + hidden, hidden) & (runs.x | runs.y));
        }
        vec<T>* const swapped = now;
        now = next, next = swapped;
    }
    write_distances<T>(cell, now, total, pairs.x_lengths, pairs.y_lengths, distances);
}

template <class T> constexpr CoupledKernels<T> kernels = {lanes<T>, block, roll<T>};

}  // namespace

extern const CoupledTable coupled_table;
const CoupledTable coupled_table = {kernels<float>, kernels<double>};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
