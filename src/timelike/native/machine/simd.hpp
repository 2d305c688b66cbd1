// Vectors of the widest register this object was compiled for, and the few operations that need more than a + b.
// Every function has a scalar overload, so that a cell written once serves one pair alone and a register full of pairs.
#pragma once
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace timelike {
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

// From and to anywhere in memory. Where the address is known to be aligned, SSE could read it as part of another instruction:
// the kernels that gain by that have a load of their own.
template <class T>
inline vec<T> load(const T* from) {
    vec<T> value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}
template <class T>
inline void store(T* into, vec<T> value) { __builtin_memcpy(into, &value, sizeof value); }

// min and max: a comparison and a blend is what compilers make of a < b ? a : b while inf and -0 must be kept
#if defined(__AVX512F__)
#define TIMELIKE_PS(operation, ...) (vec<float>)_mm512_##operation##_ps(__VA_ARGS__)
#define TIMELIKE_PD(operation, ...) (vec<double>)_mm512_##operation##_pd(__VA_ARGS__)
#define TIMELIKE_F (__m512)
#define TIMELIKE_D (__m512d)
#elif defined(__AVX2__)
#define TIMELIKE_PS(operation, ...) (vec<float>)_mm256_##operation##_ps(__VA_ARGS__)
#define TIMELIKE_PD(operation, ...) (vec<double>)_mm256_##operation##_pd(__VA_ARGS__)
#define TIMELIKE_F (__m256)
#define TIMELIKE_D (__m256d)
#elif defined(__SSE2__)
#define TIMELIKE_PS(operation, ...) (vec<float>)_mm_##operation##_ps(__VA_ARGS__)
#define TIMELIKE_PD(operation, ...) (vec<double>)_mm_##operation##_pd(__VA_ARGS__)
#define TIMELIKE_F (__m128)
#define TIMELIKE_D (__m128d)
#endif

#if defined(TIMELIKE_PS)
inline vec<float> least(vec<float> a, vec<float> b) { return TIMELIKE_PS(min, TIMELIKE_F a, TIMELIKE_F b); }
inline vec<double> least(vec<double> a, vec<double> b) { return TIMELIKE_PD(min, TIMELIKE_D a, TIMELIKE_D b); }
inline vec<float> most(vec<float> a, vec<float> b) { return TIMELIKE_PS(max, TIMELIKE_F a, TIMELIKE_F b); }
inline vec<double> most(vec<double> a, vec<double> b) { return TIMELIKE_PD(max, TIMELIKE_D a, TIMELIKE_D b); }
inline vec<float> root(vec<float> a) { return TIMELIKE_PS(sqrt, TIMELIKE_F a); }
inline vec<double> root(vec<double> a) { return TIMELIKE_PD(sqrt, TIMELIKE_D a); }
#else
template <class V> inline V least(V a, V b) { return a < b ? a : b; }
template <class V> inline V most(V a, V b) { return a > b ? a : b; }
inline vec<float> root(vec<float> a) {
    for (int l = 0; l < lanes<float>; l++) a[l] = __builtin_sqrtf(a[l]);
    return a;
}
inline vec<double> root(vec<double> a) {
    for (int l = 0; l < lanes<double>; l++) a[l] = __builtin_sqrt(a[l]);
    return a;
}
#endif

// a·b + c, with one rounding where the instruction set has it. Written out, not left to the compiler, which would fuse in
// one schedule and not in another: a distance must not depend on how it was scheduled.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define TIMELIKE_FUSES 1
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
inline float fused(float a, float b, float c) { return a * b + c; }
inline double fused(double a, double b, double c) { return a * b + c; }
#endif
#if defined(TIMELIKE_FUSES) && defined(TIMELIKE_PS)
inline vec<float> fused(vec<float> a, vec<float> b, vec<float> c) {
    return TIMELIKE_PS(fmadd, TIMELIKE_F a, TIMELIKE_F b, TIMELIKE_F c);
}
inline vec<double> fused(vec<double> a, vec<double> b, vec<double> c) {
    return TIMELIKE_PD(fmadd, TIMELIKE_D a, TIMELIKE_D b, TIMELIKE_D c);
}
#elif defined(TIMELIKE_FUSES)
template <class V> inline V fused(V a, V b, V c) {
    for (unsigned l = 0; l < sizeof(V) / sizeof(a[0]); l++) a[l] = fused(a[l], b[l], c[l]);
    return a;
}
#else
template <class V> inline V fused(V a, V b, V c) { return a * b + c; }
#endif

inline float least(float a, float b) { return a < b ? a : b; }
inline double least(double a, double b) { return a < b ? a : b; }
inline float most(float a, float b) { return a > b ? a : b; }
inline double most(double a, double b) { return a > b ? a : b; }
inline float root(float a) { return __builtin_sqrtf(a); }
inline double root(double a) { return __builtin_sqrt(a); }
inline float magnitude(float a) { return __builtin_fabsf(a); }
inline double magnitude(double a) { return __builtin_fabs(a); }
template <class V> inline V magnitude(V a) {
    typedef decltype(a < a) Bits;
    return (V)((Bits)a & ~(Bits)(-(V{})));
}

// lane k of the result is lane k - 1 of `a`, and lane 0 is `into`; written for each compiler, because a loop over the lanes
// may go through memory
template <class T>
inline vec<T> shifted(vec<T> a, T into) {
    constexpr int W = lanes<T>;
    typedef typename vector_of<T>::type V;
#if defined(__AVX512F__)
    const __m512i values = (__m512i)a, front = (__m512i)(V{} + into);
    if constexpr (W == 16) return (V)_mm512_alignr_epi32(values, front, 15);
    else return (V)_mm512_alignr_epi64(values, front, 7);
#elif defined(__clang__)
    if constexpr (W == 16) a = __builtin_shufflevector(a, a, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    else if constexpr (W == 8) a = __builtin_shufflevector(a, a, 0, 0, 1, 2, 3, 4, 5, 6);
    else if constexpr (W == 4) a = __builtin_shufflevector(a, a, 0, 0, 1, 2);
    else a = __builtin_shufflevector(a, a, 0, 0);
#else
    typedef decltype(V{} < V{}) I;
    I from = {};
    for (int k = 1; k < W; k++) from[k] = k - 1;
    a = __builtin_shuffle(a, from);
#endif
#if !defined(__AVX512F__)
    a[0] = into;
    return a;
#endif
}

}  // namespace
}  // namespace timelike
