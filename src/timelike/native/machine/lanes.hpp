// Rows of a sequence to lanes and back: W registers of W lanes are transposed, or each summed, by exchanges of halves.
#pragma once
#include "machine/simd.hpp"

namespace timelike {
namespace {

// where bit `Stride` of a lane's number is not set, that lane of `a`, else of `b` the lane `Stride` before
template <int Stride, class T>
inline vec<T> lower(vec<T> a, vec<T> b) {
    constexpr int W = lanes<T>;
#if defined(__clang__)
    vec<T> mixed;
    for (int l = 0; l < W; l++) mixed[l] = l & Stride ? b[l - Stride] : a[l];
    return mixed;
#else
    decltype(a < a) from = {};
    for (int l = 0; l < W; l++) from[l] = l & Stride ? W + l - Stride : l;
    return __builtin_shuffle(a, b, from);
#endif
}

// where bit `Stride` of a lane's number is set, that lane of `b`, else of `a` the lane `Stride` after
template <int Stride, class T>
inline vec<T> upper(vec<T> a, vec<T> b) {
    constexpr int W = lanes<T>;
#if defined(__clang__)
    vec<T> mixed;
    for (int l = 0; l < W; l++) mixed[l] = l & Stride ? b[l] : a[l + Stride];
    return mixed;
#else
    decltype(a < a) from = {};
    for (int l = 0; l < W; l++) from[l] = l & Stride ? W + l : l + Stride;
    return __builtin_shuffle(a, b, from);
#endif
}

// log2(W) rounds of exchanges, each a shuffle of two registers; nothing goes through memory
template <class T, int Stride = 1>
inline void transpose(vec<T> (&rows)[lanes<T>]) {
    if constexpr (Stride < lanes<T>) {
        for (int i = 0; i < lanes<T>; i++) {
            if (i & Stride) continue;
            const vec<T> a = rows[i], b = rows[i + Stride];
            rows[i] = lower<Stride, T>(a, b), rows[i + Stride] = upper<Stride, T>(a, b);
        }
        transpose<T, 2 * Stride>(rows);
    }
}

// the sum of the lanes of row l into lane l: W sums take about as long as one alone would, lane by lane
template <class T, int Stride = 1>
inline vec<T> row_sums(vec<T> (&rows)[lanes<T>]) {
    if constexpr (Stride < lanes<T>) {
        for (int i = 0; i < lanes<T>; i += 2 * Stride)
            rows[i] = lower<Stride, T>(rows[i], rows[i + Stride]) + upper<Stride, T>(rows[i], rows[i + Stride]);
        return row_sums<T, 2 * Stride>(rows);
    } else {
        return rows[0];
    }
}

}  // namespace
}  // namespace timelike
