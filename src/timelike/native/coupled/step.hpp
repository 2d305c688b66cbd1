// One step of the two GRUs of coupled/table.hpp, for the kernels of each instruction set. Every operation is lane by lane and the two
// sequences are treated alike, so that a pair gives the same bits whatever its neighbours are and whichever of the two comes first.
#pragma once
#include "coupled/table.hpp"
#include "machine/activations.hpp"

namespace timelike {
namespace {

// units at once, as many as there are registers for: seven sums for each
constexpr int block = register_bytes == 64 ? 2 : 1;

// what the host lays out for lanes is aligned, so that SSE reads it as part of another instruction
template <class T>
inline vec<T> load_aligned(const T* from) { return *reinterpret_cast<const vec<T>*>(from); }

template <class T> using Mask = decltype(vec<T>{} < vec<T>{});

template <bool Shared, class T>
inline vec<T> input(const T* step, int64_t feature) {
    if constexpr (Shared) return all(step[feature]);
    else return load_aligned(step + feature * lanes<T>);
}

// Where the states are read and where the next ones go, (unit).
template <class T>
struct States {
    const vec<T>*x, *y;
    vec<T>*next_x, *next_y;
};

// Which of the sequences of a pair still run, where some do not.
template <class T>
struct ActiveLanes {
    Mask<T> x, y;
};

struct Logistic {
    template <class T> static VecPair<T> of(vec<T> a, vec<T> b) { return logistic<T>(a, b); }
    template <class T> static vec<T> of(vec<T> a) { return logistic<T>(a); }
};
struct Tangent {
    template <class T> static VecPair<T> of(vec<T> a, vec<T> b) { return tangent<T>(a, b); }
    template <class T> static vec<T> of(vec<T> a) { return tangent<T>(a); }
};

template <class Function, int Units, class T>
inline void in_pairs(vec<T> (&values)[Units]) {
    if constexpr (Units == 2) {
        const VecPair<T> both = Function::template of<T>(values[0], values[1]);
        values[0] = both.first, values[1] = both.second;
    } else {
        values[0] = Function::template of<T>(values[0]);
    }
}

// Where the gates of a step go, each (unit), if they will be needed: of x what is reset, reset, update and new state, then
// of y, then the coupling.
struct NoGateTrace {
    template <class V> void put(int64_t, const V&) const {}
    template <class V> void put_coupling(int64_t, const V&) const {}
};
template <class T>
struct GateTrace {
    vec<T>* gates;
    void put(int64_t at, const vec<T>& value) const { gates[at] = value; }
    void put_coupling(int64_t at, const vec<T>& value) const { gates[at] = value; }
};
// Of the gates only the coupling is requested, and of it the sum.
template <class T>
struct CouplingSum : NoGateTrace {
    vec<T>* coupling;
    explicit CouplingSum(vec<T>* coupling) : coupling(coupling) {}
    void put_coupling(int64_t, const vec<T>& value) const { *coupling += value; }
};

template <int Units, bool Shared, bool Masked, class T, class Trace>
inline void advance(const CoupledCell<T>& cell, int64_t unit, const T* x, const T* y, const States<T>& h, const ActiveLanes<T>& runs,
                    const Trace& trace) {
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
    // what shares a division belongs to one sequence: the other's may be over, and would round its partner's
    for (int u = 0; u < Units; u++) {
        const VecPair<T> gates_x = logistic<T>(reset_x[u], update_x[u]), gates_y = logistic<T>(reset_y[u], update_y[u]);
        trace.put(unit + u, new_x[u]), trace.put(4 * hidden + unit + u, new_y[u]);
        trace.put(hidden + unit + u, gates_x.first), trace.put(5 * hidden + unit + u, gates_y.first);
        trace.put(2 * hidden + unit + u, gates_x.second), trace.put(6 * hidden + unit + u, gates_y.second);
        new_x[u] = fused(gates_x.first, new_x[u], input<Shared>(x, 2 * hidden + unit + u));
        new_y[u] = fused(gates_y.first, new_y[u], input<false>(y, 2 * hidden + unit + u));
        update_x[u] = gates_x.second, update_y[u] = gates_y.second;
    }
    in_pairs<Logistic, Units, T>(couple);
    in_pairs<Tangent, Units, T>(new_x);
    in_pairs<Tangent, Units, T>(new_y);
    for (int u = 0; u < Units; u++) {
        vec<T> c = couple[u];
        if constexpr (Masked) c = (vec<T>)((Mask<T>)c & runs.x & runs.y);  // a sequence alone is a plain GRU
        trace.put(3 * hidden + unit + u, new_x[u]), trace.put(7 * hidden + unit + u, new_y[u]);
        trace.put_coupling(8 * hidden + unit + u, c);
        const vec<T> blend_x = fused(c, new_y[u] - new_x[u], new_x[u]), blend_y = fused(c, new_x[u] - new_y[u], new_y[u]);
        const vec<T> old_x = h.x[unit + u], old_y = h.y[unit + u];
        const vec<T> next_x = fused(update_x[u], old_x - blend_x, blend_x), next_y = fused(update_y[u], old_y - blend_y, blend_y);
        h.next_x[unit + u] = Masked ? (runs.x ? next_x : old_x) : next_x;
        h.next_y[unit + u] = Masked ? (runs.y ? next_y : old_y) : next_y;
    }
}

template <bool Shared, bool Masked, class T, class Trace = NoGateTrace>
inline void step(const CoupledCell<T>& cell, const T* x, const T* y, const States<T>& h, const ActiveLanes<T>& runs, const Trace& trace = {}) {
    int64_t unit = 0;
    for (; unit + block <= cell.hidden; unit += block) advance<block, Shared, Masked>(cell, unit, x, y, h, runs, trace);
    if constexpr (block > 1)
        for (; unit < cell.hidden; unit++) advance<1, Shared, Masked>(cell, unit, x, y, h, runs, trace);
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

// The steps that all pairs of a register have, and how many the longest has.
struct Extent {
    int64_t common, last;
};

inline Extent extent(const int64_t* x_lengths, const int64_t* y_lengths, int count) {
    Extent found{x_lengths[0], 0};
    for (int l = 0; l < count; l++) {
        const int64_t n = x_lengths[l], m = y_lengths[l], low = n < m ? n : m, high = n < m ? m : n;
        found.common = low < found.common ? low : found.common, found.last = high > found.last ? high : found.last;
    }
    return found;
}

template <class T>
inline ActiveLanes<T> active_lanes(int64_t t, const int64_t* x_lengths, const int64_t* y_lengths) {
    ActiveLanes<T> runs{};
    for (int l = 0; l < lanes<T>; l++) runs.x[l] = -(t < x_lengths[l]), runs.y[l] = -(t < y_lengths[l]);
    return runs;
}

// The distances (lane), from the last states or from the sums over time.
template <class T>
inline void write_distances(const CoupledCell<T>& cell, const vec<T>* states, vec<T> total, const int64_t* x_lengths, const int64_t* y_lengths,
                 T* distances) {
    if (!cell.mean) total = apart<T>(states, states + cell.hidden, cell.hidden);
    for (int l = 0; l < lanes<T>; l++) {
        const int64_t n = x_lengths[l], m = y_lengths[l];
        distances[l] = cell.mean ? total[l] / T(n < m ? m : n) : total[l];
    }
}

}  // namespace
}  // namespace timelike
