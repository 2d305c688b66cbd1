// The logistic function and the hyperbolic tangent, two registers at a time: both denominators share one division.
// Both are within 4 units in the last place as far as they reach; beyond, the logistic function stays above 0.
#pragma once
#include "machine/explog.hpp"

namespace timelike {
namespace {

template <class T> struct Reach;
// beyond these the functions are 0, ±1 or 1 to rounding, and the product of two denominators is still finite
template <> struct Reach<float> { static constexpr float logistic = 40.0f, tangent = 20.0f; };
template <> struct Reach<double> { static constexpr double logistic = 300.0, tangent = 40.0; };

template <class T>
struct VecPair {
    vec<T> first, second;
};

// not a number stays what it is: both operations give their second argument then
template <class T>
inline vec<T> clamped(vec<T> x, T reach) { return least(all(reach), most(all(-reach), x)); }

// exp(x) = power · (1 + rest), of x that is clamped
template <class T>
struct Exponential {
    vec<T> power, rest;
};

template <class T>
inline Exponential<T> split_exponential(vec<T> x) {
    typedef Constants<T> C;
    typedef decltype(x < x) Bits;
    const vec<T> whole = fused(x, all(C::log2_e), all(C::rounder)), n = whole - C::rounder;
    const vec<T> r = fused(n, all(-C::ln2_low), fused(n, all(-C::ln2_high), x));
    const vec<T> power = (vec<T>)((Bits)all(T(1)) + ((Bits)whole << C::shift));
    return {power, fused(polynomial<T>(C::exponential, r), r * r, r)};
}

// 1 + exp(−x)
template <class T>
inline vec<T> logistic_denominator(vec<T> x) {
    const Exponential<T> e = split_exponential<T>(clamped<T>(-x, Reach<T>::logistic));
    return fused(e.power, e.rest, e.power) + T(1);
}

template <class T>
inline VecPair<T> logistic(vec<T> first, vec<T> second) {
    const vec<T> a = logistic_denominator<T>(first), b = logistic_denominator<T>(second);
    const vec<T> inverse = T(1) / (a * b);
    return {inverse * b, inverse * a};
}

template <class T>
inline vec<T> logistic(vec<T> x) { return T(1) / logistic_denominator<T>(x); }

// exp(2x) − 1, of which tanh(x) is the share in itself plus 2; near 0 no digit is lost, as power is 1 there
template <class T>
inline vec<T> exponential_less_one(vec<T> x) {
    const Exponential<T> e = split_exponential<T>(clamped<T>(x + x, Reach<T>::tangent));
    return fused(e.power, e.rest, e.power - T(1));
}

template <class T>
inline VecPair<T> tangent(vec<T> first, vec<T> second) {
    const vec<T> p = exponential_less_one<T>(first), q = exponential_less_one<T>(second);
    const vec<T> a = p + T(2), b = q + T(2), inverse = T(1) / (a * b);
    return {p * (inverse * b), q * (inverse * a)};
}

template <class T>
inline vec<T> tangent(vec<T> x) {
    const vec<T> p = exponential_less_one<T>(x);
    return p / (p + T(2));
}

}  // namespace
}  // namespace timelike
