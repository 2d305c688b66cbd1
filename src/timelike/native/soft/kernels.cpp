// The recurrences of soft/table.hpp, compiled once per instruction set. Every operation is lane by lane, so that a pair gives
// the same bits whatever its neighbours are.
#include "machine/explog.hpp"
#include "soft/table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

template <class T> constexpr T largest = sizeof(T) == 4 ? T(__FLT_MAX__) : T(__DBL_MAX__);

// `Together` diagonals at once: the own frames are loaded once for all.
template <int Together, class T>
inline void costs_of(T* const* out, const T* const* others, int64_t channels, int64_t other_stride, int64_t own_stride,
                     const T* own) {
    vec<T> sum[Together] = {};
    for (int64_t c = 0; c < channels; c++) {
        const vec<T> frames = load(own + c * own_stride);
        for (int q = 0; q < Together; q++) {
            const vec<T> difference = frames - load(others[q] + c * other_stride);
            sum[q] = fused(difference, difference, sum[q]);
        }
    }
    for (int q = 0; q < Together; q++) store(out[q], sum[q]);
}

template <class T>
void costs(T* const* out, const T* const* others, int64_t count, int64_t channels, int64_t other_stride, int64_t own_stride,
           const T* own) {
    constexpr int together = 8;  // sums that do not wait for one another, and fit the registers of every instruction set
    int64_t q = 0;
    for (; q + together <= count; q += together) costs_of<together>(out + q, others + q, channels, other_stride, own_stride, own);
    for (; q < count; q++) costs_of<1>(out + q, others + q, channels, other_stride, own_stride, own);
}

// min − γ log Σ exp((min − ·)/γ). The least of the three has the weight 1, so only the other two are exponentials. Sorted
// first, so that exchanging x and y exchanges nothing here. Cells outside the band are inf; where all three are, min is made
// finite, because inf − inf is not a number.
template <class T>
inline vec<T> soft_minimum(Softness<T> s, vec<T> a, vec<T> b, vec<T> c) {
    const vec<T> lower = least(b, c), upper = most(b, c);
    const vec<T> middle = most(lower, least(upper, a)), high = most(upper, a);
    const vec<T> low = least(least(lower, a), all(largest<T>));
    const vec<T> rest = exponential<T>((low - middle) * s.inverse) + exponential<T>((low - high) * s.inverse);
    return fused(all(-s.gamma), log_of_one_plus<T>(rest), low);
}

template <class T>
void forward(Softness<T> s, const Predecessors<const T*>& totals, int64_t count, T* out) {
    const Predecessors<const T*> from = totals;
    for (int64_t k = 0; k < count; k += lanes<T>)
        store(out + k, load(out + k) + soft_minimum(s, load(from.corner + k), load(from.above + k), load(from.left + k)));
}

// The shares of the three ways into a cell, which sum to one.
template <class T>
inline Predecessors<vec<T>> shares(Softness<T> s, const Predecessors<const T*>& totals, int64_t k) {
    const vec<T> a = load(totals.corner + k), b = load(totals.above + k), c = load(totals.left + k);
    const vec<T> low = least(least(least(b, c), a), all(largest<T>));
    const vec<T> corner = exponential<T>((low - a) * s.inverse), above = exponential<T>((low - b) * s.inverse);
    const vec<T> left = exponential<T>((low - c) * s.inverse);
    const vec<T> part = T(1) / most(corner + (above + left), all(T(1)));  // less than 1 only where all ways are closed
    return {corner * part, above * part, left * part};
}

template <class T>
inline vec<T> gathered(const Predecessors<const T*>& flows, int64_t k) {
    return load(flows.corner + k) + (load(flows.above + k) + load(flows.left + k));
}

template <class T>
void backward(Softness<T> s, const Predecessors<const T*>& totals, const Predecessors<const T*>& after, int64_t count, T* share,
              const Predecessors<T*>& flows) {
    const Predecessors<const T*> from = totals, next = after;
    const Predecessors<T*> to = flows;
    for (int64_t k = 0; k < count; k += lanes<T>) {
        const vec<T> here = gathered(next, k);
        const Predecessors<vec<T>> part = shares(s, from, k);
        store(share + k, here);
        store(to.corner + k, here * part.corner);
        store(to.above + k, here * part.above);
        store(to.left + k, here * part.left);
    }
}

template <class T>
inline vec<T> mean(const Predecessors<vec<T>>& part, const Predecessors<vec<T>>& of) {
    return fused(part.corner, of.corner, fused(part.above, of.above, part.left * of.left));
}

template <class T>
inline Predecessors<vec<T>> loaded(const Predecessors<const T*>& from, int64_t k) {
    return {load(from.corner + k), load(from.above + k), load(from.left + k)};
}

template <class T>
void tangent(Softness<T> s, const Predecessors<const T*>& totals, const Predecessors<const T*>& tangents, int64_t count, T* out) {
    for (int64_t k = 0; k < count; k += lanes<T>)
        store(out + k, load(out + k) + mean<T>(shares(s, totals, k), loaded(tangents, k)));
}

template <class T>
void turn(Softness<T> s, const Predecessors<const T*>& totals, const Predecessors<const T*>& tangents, const Predecessors<const T*>& after,
          const Predecessors<const T*>& after_tangents, int64_t count, T* share_tangent, const Predecessors<T*>& flows,
          const Predecessors<T*>& flow_tangents) {
    for (int64_t k = 0; k < count; k += lanes<T>) {
        const vec<T> here = gathered(after, k), turning = gathered(after_tangents, k);
        const Predecessors<vec<T>> part = shares(s, totals, k), slope = loaded(tangents, k);
        const vec<T> middle = mean<T>(part, slope), pull = here * s.inverse;
        store(share_tangent + k, turning);
        store(flows.corner + k, here * part.corner);
        store(flows.above + k, here * part.above);
        store(flows.left + k, here * part.left);
        store(flow_tangents.corner + k, part.corner * fused(pull, middle - slope.corner, turning));
        store(flow_tangents.above + k, part.above * fused(pull, middle - slope.above, turning));
        store(flow_tangents.left + k, part.left * fused(pull, middle - slope.left, turning));
    }
}

// `Together` channels at once: the shares are loaded once for all, and the sums do not wait for one another.
template <int Together, class T>
inline void gather_channels(T* const* shares, const T* const* others, int64_t count, int64_t other_stride,
                            int64_t own_stride, const T* own, T* gradient) {
    vec<T> frames[Together], sum[Together];
    for (int c = 0; c < Together; c++) frames[c] = load(own + c * own_stride), sum[c] = load(gradient + c * own_stride);
    for (int64_t q = 0; q < count; q++) {
        const vec<T> share = load(shares[q]);
        const T* other = others[q];
        for (int c = 0; c < Together; c++) sum[c] = fused(share, frames[c] - load(other + c * other_stride), sum[c]);
    }
    for (int c = 0; c < Together; c++) store(gradient + c * own_stride, sum[c]);
}

// In groups as equal as they can be: a channel alone would wait for its own sum as long as six take together.
template <class T>
void gather(T* const* shares, const T* const* others, int64_t count, int64_t channels, int64_t other_stride,
            int64_t own_stride, const T* own, T* gradient) {
    using Group = void (*)(T* const*, const T* const*, int64_t, int64_t, int64_t, const T*, T*);
    constexpr int most = 6;
    constexpr Group of[most] = {gather_channels<1, T>, gather_channels<2, T>, gather_channels<3, T>,
                                gather_channels<4, T>, gather_channels<5, T>, gather_channels<6, T>};
    const T* facing[16];
    int64_t c = 0;
    for (int64_t groups = (channels + most - 1) / most; groups > 0; groups--) {
        for (int64_t q = 0; q < count; q++) facing[q] = others[q] + c * other_stride;
        const int64_t together = (channels - c + groups - 1) / groups, at = c * own_stride;
        of[together - 1](shares, facing, count, other_stride, own_stride, own + at, gradient + at);
        c += together;
    }
}

template <class T>
void row(const T* x, const T* y, int64_t channels, int64_t stride, int64_t count, T* out) {
    for (int64_t k = 0; k < count; k += lanes<T>) {
        vec<T> sum{};
        for (int64_t c = 0; c < channels; c++) {
            const vec<T> difference = x[c] - load(y + c * stride + k);
            sum = fused(difference, difference, sum);
        }
        const int64_t left = count - k;
        __builtin_memcpy(out + k, &sum, size_t(left < lanes<T> ? left : lanes<T>) * sizeof(T));
    }
}

template <class T>
constexpr SoftKernels<T> kernels = {lanes<T>, costs<T>, forward<T>, backward<T>, tangent<T>, turn<T>, gather<T>, row<T>};

}  // namespace

extern const SoftTable soft_table;
const SoftTable soft_table = {kernels<float>, kernels<double>};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
