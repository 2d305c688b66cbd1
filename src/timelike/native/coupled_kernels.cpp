// The rollout of coupled.hpp, compiled once per instruction set. Every operation is lane by lane and the two twins are
// treated alike, so that a pair gives the same bits whatever its neighbours are and whichever of the two comes first.
#include "coupled.hpp"
#include "squash.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

// units at once, as many as there are registers for: seven sums for each
constexpr int block = register_bytes == 64 ? 2 : 1;

template <class T>
inline vec<T> load(const T* from) { return *reinterpret_cast<const vec<T>*>(from); }

template <class T> using Mask = decltype(vec<T>{} < vec<T>{});

template <bool Shared, class T>
inline vec<T> input(const T* step, int64_t feature) {
    if constexpr (Shared) return all(step[feature]);
    else return load(step + feature * lanes<T>);
}

// Where the states are read and where the next ones go, (unit).
template <class T>
struct States {
    const vec<T>*x, *y;
    vec<T>*next_x, *next_y;
};

// Which of the twins still run, where some do not.
template <class T>
struct Running {
    Mask<T> x, y;
};

struct Logistic {
    template <class T> static Two<T> of(vec<T> a, vec<T> b) { return logistic<T>(a, b); }
    template <class T> static vec<T> of(vec<T> a) { return logistic<T>(a); }
};
struct Tangent {
    template <class T> static Two<T> of(vec<T> a, vec<T> b) { return tangent<T>(a, b); }
    template <class T> static vec<T> of(vec<T> a) { return tangent<T>(a); }
};

template <class Function, int Units, class T>
inline void in_pairs(vec<T> (&values)[Units]) {
    if constexpr (Units == 2) {
        const Two<T> both = Function::template of<T>(values[0], values[1]);
        values[0] = both.first, values[1] = both.second;
    } else {
        values[0] = Function::template of<T>(values[0]);
    }
}

template <int Units, bool Shared, bool Masked, class T>
inline void advance(const CoupledCell<T>& cell, int64_t unit, const T* x, const T* y, const States<T>& h, const Running<T>& runs) {
    const int64_t hidden = cell.hidden;
    const T* weights = cell.weights + 4 * hidden * unit;
    vec<T> reset_x[Units], reset_y[Units], update_x[Units], update_y[Units], new_x[Units], new_y[Units], couple[Units];
    for (int u = 0; u < Units; u++) {
        reset_x[u] = input<Shared>(x, unit + u), reset_y[u] = input<false>(y, unit + u);
        update_x[u] = input<Shared>(x, hidden + unit + u), update_y[u] = input<false>(y, hidden + unit + u);
        new_x[u] = new_y[u] = all(cell.candidate[unit + u]), couple[u] = all(cell.coupling[unit + u]);
    }
    for (int64_t k = 0; k < hidden; k++, weights += 4 * Units) {
        const vec<T> a = h.x[k], b = h.y[k], both = a + b;
        for (int u = 0; u < Units; u++) {
            const vec<T> reset = all(weights[u]), update = all(weights[Units + u]);
            const vec<T> fresh = all(weights[2 * Units + u]), coupling = all(weights[3 * Units + u]);
            reset_x[u] = fused(reset, a, reset_x[u]), reset_y[u] = fused(reset, b, reset_y[u]);
            update_x[u] = fused(update, a, update_x[u]), update_y[u] = fused(update, b, update_y[u]);
            new_x[u] = fused(fresh, a, new_x[u]), new_y[u] = fused(fresh, b, new_y[u]);
            couple[u] = fused(coupling, both, couple[u]);
        }
    }
    // what shares a division belongs to one twin: the other's may be over, and would round its partner's
    for (int u = 0; u < Units; u++) {
        const Two<T> gates_x = logistic<T>(reset_x[u], update_x[u]), gates_y = logistic<T>(reset_y[u], update_y[u]);
        new_x[u] = fused(gates_x.first, new_x[u], input<Shared>(x, 2 * hidden + unit + u));
        new_y[u] = fused(gates_y.first, new_y[u], input<false>(y, 2 * hidden + unit + u));
        update_x[u] = gates_x.second, update_y[u] = gates_y.second;
    }
    in_pairs<Logistic, Units, T>(couple);
    in_pairs<Tangent, Units, T>(new_x);
    in_pairs<Tangent, Units, T>(new_y);
    for (int u = 0; u < Units; u++) {
        vec<T> c = couple[u];
        if constexpr (Masked) c = (vec<T>)((Mask<T>)c & runs.x & runs.y);  // a twin alone is a plain GRU
        const vec<T> blend_x = fused(c, new_y[u] - new_x[u], new_x[u]), blend_y = fused(c, new_x[u] - new_y[u], new_y[u]);
        const vec<T> old_x = h.x[unit + u], old_y = h.y[unit + u];
        const vec<T> next_x = fused(update_x[u], old_x - blend_x, blend_x), next_y = fused(update_y[u], old_y - blend_y, blend_y);
        h.next_x[unit + u] = Masked ? (runs.x ? next_x : old_x) : next_x;
        h.next_y[unit + u] = Masked ? (runs.y ? next_y : old_y) : next_y;
    }
}

template <bool Shared, bool Masked, class T>
inline void step(const CoupledCell<T>& cell, const T* x, const T* y, const States<T>& h, const Running<T>& runs) {
    int64_t unit = 0;
    for (; unit + block <= cell.hidden; unit += block) advance<block, Shared, Masked>(cell, unit, x, y, h, runs);
    if constexpr (block > 1)
        for (; unit < cell.hidden; unit++) advance<1, Shared, Masked>(cell, unit, x, y, h, runs);
}

template <class T>
inline vec<T> apart(const vec<T>* x, const vec<T>* y, int64_t hidden) {
    vec<T> sum{};
    for (int64_t k = 0; k < hidden; k++) {
        const vec<T> difference = x[k] - y[k];
        sum = fused(difference, difference, sum);
    }
    return root(sum);
}

template <bool Shared, class T>
void roll_over(const CoupledCell<T>& cell, const CoupledPairs<T>& pairs, T* scratch, T* distances, const volatile bool* stop) {
    constexpr int W = lanes<T>;
    const int64_t hidden = cell.hidden, x_stride = 3 * hidden * (Shared ? 1 : W), y_stride = 3 * hidden * W;
    int64_t common = pairs.x_lengths[0], last = 0;
    for (int l = 0; l < W; l++) {
        const int64_t n = pairs.x_lengths[l], m = pairs.y_lengths[l], low = n < m ? n : m, high = n < m ? m : n;
        common = low < common ? low : common, last = high > last ? high : last;
    }
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
        Running<T> runs{};
        if (t < common) {
            step<Shared, false>(cell, x, y, h, runs);
            if (cell.mean) total += apart<T>(next, next + hidden, hidden);
        } else {
            for (int l = 0; l < W; l++) runs.x[l] = -(t < pairs.x_lengths[l]), runs.y[l] = -(t < pairs.y_lengths[l]);
            step<Shared, true>(cell, x, y, h, runs);
            if (cell.mean) total += (vec<T>)((Mask<T>)apart<T>(next, next + hidden, hidden) & (runs.x | runs.y));
        }
        vec<T>* const swapped = now;
        now = next, next = swapped;
    }
    if (!cell.mean) total = apart<T>(now, now + hidden, hidden);
    for (int l = 0; l < W; l++) {
        const int64_t n = pairs.x_lengths[l], m = pairs.y_lengths[l];
        distances[l] = cell.mean ? total[l] / T(n < m ? m : n) : total[l];
    }
}

template <class T>
void roll(const CoupledCell<T>& cell, const CoupledPairs<T>& pairs, T* scratch, T* distances, const volatile bool* stop) {
    if (pairs.shared) roll_over<true>(cell, pairs, scratch, distances, stop);
    else roll_over<false>(cell, pairs, scratch, distances, stop);
}

template <class T> constexpr CoupledKernels<T> kernels = {lanes<T>, block, roll<T>};

}  // namespace

extern const CoupledTable coupled_table;
const CoupledTable coupled_table = {kernels<float>, kernels<double>};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
