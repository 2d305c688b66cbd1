// The schedule for one pair alone: as many rows as the register has lanes, one lane per row, each lane one column behind
// the lane above it, so that a step makes an anti-diagonal of the strip.
#pragma once
#include "elastic/cells.hpp"

namespace timelike {
namespace {

// scratch: the row above the strip (m + 1), y backwards with W zeros on both sides per channel, x by channel (W each)
template <Cost C, bool One, bool Banded, class T>
T strip_dtw(const T* x, int64_t n, const T* y, int64_t m, int64_t channels, Band band, T* scratch,
            const volatile bool* stop) {
    using V = vec<T>;
    constexpr int W = lanes<T>;
    T* row = scratch + 1;
    const int64_t span = m + 2 * W;
    T* backwards = row + m + W;
    T* strip = backwards + span * channels;
    for (int64_t c = 0; c < channels; c++) {
        T* line = backwards + c * span;
        for (int64_t k = 0; k < span; k++) line[k] = 0;
        for (int64_t j = 0; j < m; j++) line[W + m - 1 - j] = y[j * channels + c];
    }
    row[-1] = 0;
    for (int64_t j = 0; j < m; j++) row[j] = infinity<T>;
    const V blocked = V{} + infinity<T>;
    V number;
    for (int r = 0; r < W; r++) number[r] = T(r);

    for (int64_t i = 0; i < n && !*stop; i += W) {
        const int used = int(n - i < W ? n - i : W);
        for (int64_t c = 0; c < channels; c++)
            for (int r = 0; r < W; r++) strip[c * W + r] = r < used ? x[(i + r) * channels + c] : T(0);
        const int64_t first = band.lo[i], last = band.hi[i + used - 1];
        V low, high;  // the band of each lane, counted from `first`
        if (Banded)
            for (int r = 0; r < W; r++) {
                low[r] = T(r < used ? band.lo[i + r] - first : 0);
                high[r] = T(r < used ? band.hi[i + r] - first : -1);
            }
        V now = blocked, diagonal = shifted<T>(blocked, row[first - 1]);
        row[first - 1] = infinity<T>;
        // the last lane is used − 1 steps behind the first, so the strip takes that many steps more than it has columns
        for (int64_t s = 0; s <= last - first + used - 1; s++) {
            // lane r stands at column first + s - r
            const int64_t j = first + s;
            const T top = j <= last ? row[j] : infinity<T>;
            const V above = shifted<T>(now, top);
            V next = least(least(now, diagonal), above);
            diagonal = above;  // what is above now is diagonal to the next column
            const T* window = backwards + W + m - 1 - j;
            if (One) {
                const V difference = load<T>(strip) - load<T>(window);
                next = C == Cost::sqeuclidean ? fused(difference, difference, next) : V(magnitude(difference) + next);
            } else {
                V cost = V{};
                for (int64_t c = 0; c < channels; c++) {
                    const V difference = load<T>(strip + c * W) - load<T>(window + c * span);
                    cost = C == Cost::manhattan ? V(cost + magnitude(difference)) : fused(difference, difference, cost);
                }
                next += C == Cost::euclidean ? root(cost) : cost;
            }
            const V column = T(s) - number;
            if (Banded) next = ((column < low) | (column > high)) ? blocked : next;
            else if (s < W) next = column < V{} ? blocked : next;
            now = next;
            const int64_t done = j - (used - 1);
            if (done >= first) row[done] = now[used - 1];
        }
    }
    return row[m - 1];
}

template <bool Value> struct Is { static constexpr bool value = Value; };

template <class T>
T strip(Cost cost, const T* x, int64_t n, const T* y, int64_t m, int64_t channels, Band band, bool banded, T* scratch,
        const volatile bool* stop) {
    auto run = [&](auto f) { return f(x, n, y, m, channels, band, scratch, stop); };
    auto with = [&](auto one, auto within) {
        constexpr bool One = decltype(one)::value, Banded = decltype(within)::value;
        switch (cost) {
            case Cost::euclidean: return run(strip_dtw<Cost::euclidean, One, Banded, T>);
            case Cost::manhattan: return run(strip_dtw<Cost::manhattan, One, Banded, T>);
            default: return run(strip_dtw<Cost::sqeuclidean, One, Banded, T>);
        }
    };
    if (channels == 1) return banded ? with(Is<true>{}, Is<true>{}) : with(Is<true>{}, Is<false>{});
    return banded ? with(Is<false>{}, Is<true>{}) : with(Is<false>{}, Is<false>{});
}

}  // namespace
}  // namespace timelike
