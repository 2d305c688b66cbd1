// The kernels of coupled/pair_list.hpp, compiled once per instruction set.
#include "coupled/backward.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

// The smallest and the largest of every lane's number.
struct Range {
    int64_t least, most;
};

template <class T>
Range range(const int64_t* numbers) {
    Range found{numbers[0], numbers[0]};
    for (int l = 1; l < lanes<T>; l++) {
        found.least = numbers[l] < found.least ? numbers[l] : found.least;
        found.most = numbers[l] > found.most ? numbers[l] : found.most;
    }
    return found;
}

// `count` values of every lane from `begin` on; `Whole` says that no lane has fewer than a register holds
template <bool Whole, class T>
inline void lay_block(const T* const* values, const int64_t* counts, int64_t begin, int64_t count, T* into) {
    constexpr int W = lanes<T>;
    vec<T> rows[W];
    for (int l = 0; l < W; l++) {
        if (Whole || begin + W <= counts[l]) {
            rows[l] = load(values[l] + begin);
        } else {
            T some[W] = {};
            for (int64_t k = begin; k < counts[l]; k++) some[k - begin] = values[l][k];
            rows[l] = load(some);
        }
    }
    transpose<T>(rows);
    if constexpr (Whole)
        for (int j = 0; j < W; j++) store(into + (begin + j) * W, rows[j]);
    else
        __builtin_memcpy(into + begin * W, rows, size_t(count) * sizeof(vec<T>));
}

template <class T>
void lay(const T* const* values, const int64_t* counts, int64_t count, T* into) {
    constexpr int W = lanes<T>;
    const int64_t whole = range<T>(counts).least;
    int64_t k = 0;
    for (; k + W <= whole; k += W) lay_block<true>(values, counts, k, W, into);
    for (; k < count; k += W) lay_block<false>(values, counts, k, count - k < W ? count - k : W, into);
}

template <class T>
void forward(const CoupledCell<T>& cell, const CoupledStretch<T>& stretch, T* states, T* scratch, T* totals, T* gates) {
    const int64_t hidden = cell.hidden, stride = 3 * hidden * lanes<T>;
    const int64_t common = extent(stretch.x_lengths, stretch.y_lengths, lanes<T>).common;
    vec<T>*now = reinterpret_cast<vec<T>*>(states), *next = reinterpret_cast<vec<T>*>(scratch);
    vec<T> total = load_aligned(totals), coupling{};  // of the stretch: a sum of many small numbers in parts loses less
    const CouplingSum<T> trace(&coupling);
    for (int64_t s = 0; s < stretch.steps; s++) {
        const States<T> h{now, now + hidden, next, next + hidden};
        const T *x = stretch.x + s * stride, *y = stretch.y + s * stride;
        if (stretch.begin + s < common) {
            step<false, false>(cell, x, y, h, ActiveLanes<T>{}, trace);
            if (cell.mean) total += apart<T>(next, next + hidden, hidden);
        } else {
            const ActiveLanes<T> runs = active_lanes<T>(stretch.begin + s, stretch.x_lengths, stretch.y_lengths);
            step<false, true>(cell, x, y, h, runs, trace);
            if (cell.mean) total += where<T>(runs.x | runs.y, apart<T>(next, next + hidden, hidden));
        }
        vec<T>* const swapped = now;
        now = next, next = swapped;
    }
    if (stretch.steps % 2)
        for (int64_t k = 0; k < 2 * hidden; k++) next[k] = now[k];
    *reinterpret_cast<vec<T>*>(totals) = total;
    *reinterpret_cast<vec<T>*>(gates) += coupling;
}

template <class T>
void tell_all(const CoupledCell<T>& cell, const T* states, const T* totals, const int64_t* x_lengths, const int64_t* y_lengths,
              T* distances) {
    write_distances<T>(cell, reinterpret_cast<const vec<T>*>(states), load_aligned(totals), x_lengths, y_lengths, distances);
}

constexpr int rows_at_once = register_bytes == 64 ? 4 : 2, columns_at_once = 4;

// into[r × hidden + k] += Σ over steps and lanes of gradient r × state k, of both sequences; or, `Common`, of the sum of their states.
// Rows and columns of a last block that are too many are computed from whatever lies there, and dropped.
template <bool Common, class T>
void add_products(const vec<T>* gradients, const vec<T>* states, int64_t steps, int64_t rows, int64_t hidden, T* into) {
    constexpr int R = rows_at_once, C = columns_at_once, W = lanes<T>;
    for (int64_t row = 0; row < rows; row += R) {
        for (int64_t column = 0; column < hidden; column += C) {
            vec<T> sums[R * C] = {};
            const vec<T>*g = gradients + row, *h = states + column;
            for (int64_t s = 0; s < steps; s++, g += 9 * hidden, h += 2 * hidden) {
                for (int k = 0; k < C; k++) {
                    const vec<T> a = Common ? h[k] + h[hidden + k] : h[k];
                    for (int r = 0; r < R; r++) sums[r * C + k] = fused(g[r], a, sums[r * C + k]);
                }
                if constexpr (!Common)
                    for (int k = 0; k < C; k++)
                        for (int r = 0; r < R; r++) sums[r * C + k] = fused(g[4 * hidden + r], h[hidden + k], sums[r * C + k]);
            }
            for (int part = 0; part < R * C; part += W) {
                vec<T> some[W];
                for (int i = 0; i < W; i++) some[i] = sums[part + i];
                const vec<T> found = row_sums<T>(some);
                for (int i = 0; i < W; i++) {
                    const int64_t r = row + (part + i) / C, k = column + (part + i) % C;
                    if (r < rows && k < hidden) into[r * hidden + k] += found[i];
                }
            }
        }
    }
}

template <class T>
void add_biases(const vec<T>* gates, int64_t steps, int64_t hidden, T* into) {
    for (int64_t u = 0; u < hidden; u++) {
        vec<T> candidate{}, coupling{};
        for (int64_t s = 0; s < steps; s++) {
            const vec<T>* g = gates + s * 9 * hidden + u;
            candidate += g[0] + g[4 * hidden], coupling += g[8 * hidden];
        }
        for (int l = 0; l < lanes<T>; l++) into[u] += candidate[l], into[hidden + u] += coupling[l];
    }
}

template <class T>
void backward(const CoupledCell<T>& cell, const CoupledStretch<T>& stretch, const CoupledBackward<T>& back) {
    const int64_t hidden = cell.hidden, stride = 3 * hidden * lanes<T>;
    const auto [common, last] = extent(stretch.x_lengths, stretch.y_lengths, lanes<T>);
    vec<T>*states = reinterpret_cast<vec<T>*>(back.states), *gates = reinterpret_cast<vec<T>*>(back.gates);
    vec<T>* const g = reinterpret_cast<vec<T>*>(back.onward);
    const vec<T> scales = load_aligned(back.scales), by_gate = load_aligned(back.by_gate);
    for (int64_t s = 0; s < stretch.steps; s++) {
        vec<T>* const now = states + s * 2 * hidden;
        const States<T> h{now, now + hidden, now + 2 * hidden, now + 3 * hidden};
        const T *x = stretch.x + s * stride, *y = stretch.y + s * stride;
        const GateTrace<T> trace{gates + s * 9 * hidden};
        if (stretch.begin + s < common) step<false, false>(cell, x, y, h, ActiveLanes<T>{}, trace);
        else step<false, true>(cell, x, y, h, active_lanes<T>(stretch.begin + s, stretch.x_lengths, stretch.y_lengths), trace);
    }
    if (!cell.mean && stretch.begin + stretch.steps == last) add_direction<T>(hidden, states + stretch.steps * 2 * hidden, scales, g);
    for (int64_t s = stretch.steps - 1; s >= 0; s--) {
        const vec<T>* const h = states + s * 2 * hidden;
        const bool masked = stretch.begin + s >= common;
        const ActiveLanes<T> runs = masked ? active_lanes<T>(stretch.begin + s, stretch.x_lengths, stretch.y_lengths) : ActiveLanes<T>{};
        if (cell.mean) add_direction<T>(hidden, h + 2 * hidden, masked ? where<T>(runs.x | runs.y, scales) : scales, g);
        if (masked) step_back<true, T>(hidden, back.weights, h, gates + s * 9 * hidden, g, by_gate, runs);
        else step_back<false, T>(hidden, back.weights, h, gates + s * 9 * hidden, g, by_gate, runs);
    }
    add_products<false, T>(gates, states, stretch.steps, 3 * hidden, hidden, back.by_weights);
    add_products<true, T>(gates + 8 * hidden, states, stretch.steps, hidden, hidden, back.by_weights + 3 * hidden * hidden);
    add_biases<T>(gates, stretch.steps, hidden, back.by_biases);
}

// adds features from .. from + W of one step, of which the first `done` were added already
template <bool Whole, class T>
inline void scatter_block(const T* gradients, int64_t from, int64_t done, int64_t at, int64_t step, const int64_t* steps, T* const* into) {
    constexpr int W = lanes<T>;
    Mask<T> fresh;
    for (int j = 0; j < W; j++) fresh[j] = -(j >= done);
    vec<T> rows[W];
    for (int j = 0; j < W; j++) rows[j] = load_aligned(gradients + (from + j) * W);
    transpose<T>(rows);
    vec<T> sum = vec<T>{};
    for (int l = 0; l < W; l++) {
        sum += rows[l];
        if (l + 1 < W && into[l + 1] == into[l]) continue;  // neighbours often share a sequence
        T* const place = into[l] + at + from;
        if (Whole || step < steps[l]) store(place, load(place) + where<T>(fresh, sum));
        sum = vec<T>{};
    }
}

template <class T>
void scatter(const T* gradients, int64_t stride, int64_t features, const int64_t* steps, T* const* into) {
    constexpr int W = lanes<T>;
    const auto [whole, last] = range<T>(steps);
    for (int64_t s = 0; s < last; s++, gradients += stride * W) {
        if (features < W) {
            for (int l = 0; l < W; l++)
                if (s < steps[l])
                    for (int64_t k = 0; k < features; k++) into[l][s * features + k] += gradients[k * W + l];
            continue;
        }
        for (int64_t k = 0; k < features; k += W) {
            const int64_t from = k + W <= features ? k : features - W;  // the last block begins earlier, so that it is whole
            if (s < whole) scatter_block<true>(gradients, from, k - from, s * features, s, steps, into);
            else scatter_block<false>(gradients, from, k - from, s * features, s, steps, into);
        }
    }
}

template <class T>
constexpr CoupledPairKernels<T> kernels = {lanes<T>, block, width, lay<T>, forward<T>, tell_all<T>, backward<T>, scatter<T>};

}  // namespace

extern const CoupledPairTable coupled_pair_table;
const CoupledPairTable coupled_pair_table = {kernels<float>, kernels<double>};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
