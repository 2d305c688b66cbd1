// exp of numbers up to 0 and log(1 + u) of u in [0, 2], for a register at once: all that a soft minimum needs. Both are
// within 2 units in the last place; the polynomials interpolate at Chebyshev nodes, so that their own error is a tenth of it.
#pragma once
#include "machine/simd.hpp"

namespace timelike {
namespace {

template <class T> struct Constants;

template <> struct Constants<double> {
    static constexpr int shift = 52;
    static constexpr double least = -708.0;            // below, the result would not be a normal number: it is 0
    static constexpr double rounder = 6755399441055744.0;  // 1.5 · 2^52: adding it leaves a whole number in the low bits
    static constexpr double log2_e = 1.4426950408889634;
    // ln 2 in two parts, of which the first times a whole number is exact
    static constexpr double ln2_high = 0.69314718036912382, ln2_low = 1.9082149292705877e-10, ln2 = 0.69314718055994531;
    // (exp(r) − 1 − r) / r² for |r| ≤ 0.348, and (atanh(t) / t − 1) / t² over t² in [0, 0.04]
    static constexpr double exponential[10] = {0.50000000000000011, 0.16666666666666669, 0.041666666666622741, 0.0083333333333299557,
        0.0013888888917903373, 0.00019841269863583974, 2.4801520228646452e-05, 2.7557267639224082e-06,
        2.7620594084141299e-07, 2.5100774336717131e-08};
    static constexpr double logarithm[7] = {0.33333333333333465, 0.19999999999672824, 0.14285714416339865, 0.11111091590340633,
        0.090922943019022193, 0.076421163285503163, 0.075568404467655989};
};

template <> struct Constants<float> {
    static constexpr int shift = 23;
    static constexpr float least = -87.0f;
    static constexpr float rounder = 12582912.0f;
    static constexpr float log2_e = 1.44269504f;
    static constexpr float ln2_high = 0.693115234f, ln2_low = 3.19461849e-05f, ln2 = 0.693147181f;
    static constexpr float exponential[5] = {0.5f, 0.166665755f, 0.0416665528f, 0.00836341962f, 0.00139264841f};
    static constexpr float logarithm[3] = {0.333333567f, 0.199895089f, 0.149778022f};
};

template <class T> inline vec<T> all(T value) { return vec<T>{} + value; }

template <class T, int N>
inline vec<T> polynomial(const T (&coefficients)[N], vec<T> x) {
    vec<T> sum = all(coefficients[N - 1]);
    for (int k = N - 2; k >= 0; k--) sum = fused(sum, x, all(coefficients[k]));
    return sum;
}

template <class T>
inline vec<T> exponential(vec<T> x) {
    typedef Constants<T> C;
    typedef decltype(x < x) Bits;
    const vec<T> whole = fused(x, all(C::log2_e), all(C::rounder)), n = whole - C::rounder;
    const vec<T> r = fused(n, all(-C::ln2_low), fused(n, all(-C::ln2_high), x));
    const vec<T> p = fused(polynomial<T>(C::exponential, r), r * r, r) + T(1);
    const Bits scaled = (Bits)p + ((Bits)whole << C::shift);  // times 2^n
    return (vec<T>)(scaled & (x >= C::least));
}

// log(1 + u) = ln 2 + log((1 + u) / 2) for u above ½, so that the series has a short way
template <class T>
inline vec<T> log_of_one_plus(vec<T> u) {
    typedef Constants<T> C;
    const auto upper = u > T(0.5);
    const vec<T> t = (upper ? u - T(1) : u) / (u + (upper ? all(T(3)) : all(T(2))));
    const vec<T> z = t * t, twice = t + t;
    const vec<T> series = fused(polynomial<T>(C::logarithm, z) * z, twice, twice);
    return series + (upper ? all(C::ln2) : vec<T>{});
}

}  // namespace
}  // namespace timelike
