// Vectors of the widest register this object was compiled for, and the few operations that need more than a + b.
#pragma once
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX2__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

template <class T> struct vector_of { typedef T type __attribute__((vector_size(register_bytes))); };
template <class T> using vec = typename vector_of<T>::type;
template <class T> constexpr int lanes = register_bytes / sizeof(T);
template <class T> constexpr T infinity = T(__builtin_inf());

template <class T> inline vec<T> all(T value) { return value - vec<T>{}; }

// min: a comparison and a blend is what compilers make of a < b ? a : b while inf and -0 must be kept
#if defined(__AVX512F__)
inline vec<float> least(vec<float> a, vec<float> b) { return (vec<float>)_mm512_min_ps((__m512)a, (__m512)b); }
inline vec<double> least(vec<double> a, vec<double> b) { return (vec<double>)_mm512_min_pd((__m512d)a, (__m512d)b); }
inline vec<float> root(vec<float> a) { return (vec<float>)_mm512_sqrt_ps((__m512)a); }
inline vec<double> root(vec<double> a) { return (vec<double>)_mm512_sqrt_pd((__m512d)a); }
#elif defined(__AVX2__)
inline vec<float> least(vec<float> a, vec<float> b) { return (vec<float>)_mm256_min_ps((__m256)a, (__m256)b); }
inline vec<double> least(vec<double> a, vec<double> b) { return (vec<double>)_mm256_min_pd((__m256d)a, (__m256d)b); }
inline vec<float> root(vec<float> a) { return (vec<float>)_mm256_sqrt_ps((__m256)a); }
inline vec<double> root(vec<double> a) { return (vec<double>)_mm256_sqrt_pd((__m256d)a); }
#elif defined(__SSE2__)
inline vec<float> least(vec<float> a, vec<float> b) { return (vec<float>)_mm_min_ps((__m128)a, (__m128)b); }
inline vec<double> least(vec<double> a, vec<double> b) { return (vec<double>)_mm_min_pd((__m128d)a, (__m128d)b); }
inline vec<float> root(vec<float> a) { return (vec<float>)_mm_sqrt_ps((__m128)a); }
inline vec<double> root(vec<double> a) { return (vec<double>)_mm_sqrt_pd((__m128d)a); }
#else
template <class V> inline V least(V a, V b) { return a < b ? a : b; }
inline vec<float> root(vec<float> a) {
    for (int l = 0; l < lanes<float>; l++) a[l] = __builtin_sqrtf(a[l]);
    return a;
}
inline vec<double> root(vec<double> a) {
    for (int l = 0; l < lanes<double>; l++) a[l] = __builtin_sqrt(a[l]);
    return a;
}
#endif

inline float least(float a, float b) { return a < b ? a : b; }
inline double least(double a, double b) { return a < b ? a : b; }
inline float root(float a) { return __builtin_sqrtf(a); }
inline double root(double a) { return __builtin_sqrt(a); }
inline float magnitude(float a) { return __builtin_fabsf(a); }
inline double magnitude(double a) { return __builtin_fabs(a); }
template <class V> inline V magnitude(V a) { return -least(a, -a); }

}  // namespace
