// The backward pass through the steps of coupled/step.hpp: from the gradient by the states after a step to that by the states before it.
#pragma once
#include "coupled/pair_list.hpp"
#include "coupled/step.hpp"
#include "machine/lanes.hpp"

namespace timelike {
namespace {

// states at once in the product with the transposed weights: three sums for each
constexpr int width = register_bytes == 64 ? 4 : 2;

template <class T>
inline vec<T> where(Mask<T> mask, vec<T> value) { return (vec<T>)((Mask<T>)value & mask); }

// Of one step, gates become gradients by what goes into them; `g` is the gradient by the states after it, then what of it goes
// straight to the states before. `by_gate` is the gradient by each gate of the coupling itself, beside that through the states.
template <bool Masked, class T>
inline void through_gates(int64_t hidden, const vec<T>* h, vec<T>* gates, vec<T>* g, vec<T> by_gate, const ActiveLanes<T>& runs) {
    vec<T>* const of_y = gates + 4 * hidden;
    for (int64_t u = 0; u < hidden; u++) {
        const vec<T> inner_x = gates[u], reset_x = gates[hidden + u], update_x = gates[2 * hidden + u], new_x = gates[3 * hidden + u];
        const vec<T> inner_y = of_y[u], reset_y = of_y[hidden + u], update_y = of_y[2 * hidden + u], new_y = of_y[3 * hidden + u];
        const vec<T> c = gates[8 * hidden + u], g_x = g[u], g_y = g[hidden + u];
        const vec<T> apart = new_y - new_x, blend_x = fused(c, apart, new_x), blend_y = fused(c, -apart, new_y);
        const vec<T> by_blend_x = fused(-update_x, g_x, g_x), by_blend_y = fused(-update_y, g_y, g_y);
        const vec<T> between = by_blend_y - by_blend_x;
        vec<T> by_new_x = fused(c, between, by_blend_x) * fused(-new_x, new_x, all(T(1)));
        vec<T> by_new_y = fused(c, -between, by_blend_y) * fused(-new_y, new_y, all(T(1)));
        vec<T> by_update_x = g_x * (h[u] - blend_x) * fused(-update_x, update_x, update_x);
        vec<T> by_update_y = g_y * (h[hidden + u] - blend_y) * fused(-update_y, update_y, update_y);
        vec<T> straight_x = g_x * update_x, straight_y = g_y * update_y;
        if constexpr (Masked) {  // the gate c is shut already where one is over
            by_new_x = where<T>(runs.x, by_new_x), by_new_y = where<T>(runs.y, by_new_y);
            by_update_x = where<T>(runs.x, by_update_x), by_update_y = where<T>(runs.y, by_update_y);
            straight_x = runs.x ? straight_x : g_x, straight_y = runs.y ? straight_y : g_y;
        }
        gates[u] = by_new_x * reset_x, of_y[u] = by_new_y * reset_y;
        gates[hidden + u] = by_new_x * inner_x * fused(-reset_x, reset_x, reset_x);
        of_y[hidden + u] = by_new_y * inner_y * fused(-reset_y, reset_y, reset_y);
        gates[2 * hidden + u] = by_update_x, of_y[2 * hidden + u] = by_update_y;
        gates[3 * hidden + u] = by_new_x, of_y[3 * hidden + u] = by_new_y;
        gates[8 * hidden + u] = fused(-between, apart, by_gate) * fused(-c, c, c);  // 0 where the gate is shut
        g[u] = straight_x, g[hidden + u] = straight_y;
    }
}

// adds what goes to `States` of the states before a step through its gates
template <int States, class T>
inline void through_weights(int64_t hidden, const T* weights, int64_t state, const vec<T>* gates, vec<T>* g) {
    weights += 4 * hidden * state;
    vec<T> x[States], y[States], both[States];
    for (int k = 0; k < States; k++) x[k] = g[state + k], y[k] = g[hidden + state + k], both[k] = vec<T>{};
    for (int64_t u = 0; u < hidden; u++, weights += 4 * States) {
        const vec<T>*of_x = gates + u, *of_y = of_x + 4 * hidden;
        for (int k = 0; k < States; k++) {
            const vec<T> fresh = all(weights[k]), reset = all(weights[States + k]), update = all(weights[2 * States + k]);
            x[k] = fused(fresh, of_x[0], x[k]), y[k] = fused(fresh, of_y[0], y[k]);
            both[k] = fused(all(weights[3 * States + k]), gates[8 * hidden + u], both[k]);
            x[k] = fused(reset, of_x[hidden], x[k]), y[k] = fused(reset, of_y[hidden], y[k]);
            x[k] = fused(update, of_x[2 * hidden], x[k]), y[k] = fused(update, of_y[2 * hidden], y[k]);
        }
    }
    for (int k = 0; k < States; k++) g[state + k] = x[k] + both[k], g[hidden + state + k] = y[k] + both[k];
}

template <bool Masked, class T>
inline void step_back(int64_t hidden, const T* weights, const vec<T>* h, vec<T>* gates, vec<T>* g, vec<T> by_gate,
                      const ActiveLanes<T>& runs) {
    through_gates<Masked, T>(hidden, h, gates, g, by_gate, runs);
    int64_t state = 0;
    for (; state + width <= hidden; state += width) through_weights<width, T>(hidden, weights, state, gates, g);
    for (; state < hidden; state++) through_weights<1, T>(hidden, weights, state, gates, g);
}

// adds scales × the gradient of ‖x − y‖, which is 0 where the two are the same
template <class T>
inline void add_direction(int64_t hidden, const vec<T>* h, vec<T> scales, vec<T>* g) {
    const vec<T> distance = apart<T>(h, h + hidden, hidden);
    const vec<T> factor = where<T>(distance != T(0), scales / distance);
    for (int64_t k = 0; k < hidden; k++) {
        const vec<T> part = factor * (h[k] - h[hidden + k]);
        g[k] += part, g[hidden + k] -= part;
    }
}

}  // namespace
}  // namespace timelike
