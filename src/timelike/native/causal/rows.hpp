// Products of rows with matrices, and sums of outer products, in tiles that stay in the registers. Every sum is taken in
// the same order wherever a row stands in a tile, so that no bit depends on its neighbours.
#pragma once
#include "causal/table.hpp"
#include "machine/simd.hpp"

namespace timelike {
namespace {

constexpr int64_t unit = causal_unit;
typedef float U8 __attribute__((vector_size(32)));  // a unit: compilers make two registers of it where they are small

#if defined(__AVX512F__)
typedef vec<float> Full;
constexpr int paired = 2;                    // units of a register
constexpr int most_units = 6, most_rows = 8;  // 24 sums, and a register each for three weights and a number
inline U8 fused_unit(U8 a, U8 b, U8 c) { return (U8)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
inline U8 lower_unit(Full a) { return __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7); }
#else
typedef U8 Full;
constexpr int paired = 1;
constexpr int most_units = 3, most_rows = register_bytes == 32 ? 4 : 2;
inline U8 fused_unit(U8 a, U8 b, U8 c) { return fused(a, b, c); }
inline U8 lower_unit(Full a) { return a; }
#endif
inline Full fused_full(Full a, Full b, Full c) { return fused(a, b, c); }

template <class V> inline V read(const float* from) {
    V value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}
template <class V> inline void write(float* into, V value) { __builtin_memcpy(into, &value, sizeof value); }
template <class V> inline V everywhere(float value) { return value - V{}; }  // not +, which would make 0 of -0
#if defined(__AVX512BF16__)
inline Full everywhere_bits(float pair) {
    int32_t bits;
    __builtin_memcpy(&bits, &pair, sizeof bits);
    return (Full)_mm512_set1_epi32(bits);
}
inline Full dotted(Full sums, Full a, Full b) { return (Full)_mm512_dpbf16_ps((__m512)sums, (__m512bh)a, (__m512bh)b); }
#endif

// f(0), …, f(Count - 1), each with a constant, so that arrays of registers stay in registers: compilers unroll loops too
// late to find that out.
template <int N> struct Constant { constexpr operator int() const { return N; } };
#define TIMELIKE_INLINE __attribute__((always_inline))
template <int Count, class F>
TIMELIKE_INLINE inline void each(const F& f) {
    if constexpr (Count > 0) {
        each<Count - 1>(f);
        f(Constant<Count - 1>());
    }
}

// `Units` units of one row.
template <int Units>
struct Part {
    static constexpr int fulls = Units / paired;
    static constexpr bool odd = Units % paired != 0;
    Full full[fulls ? fulls : 1];
    U8 half;

    TIMELIKE_INLINE void load(const float* from) {
        each<fulls>([&](auto f) TIMELIKE_INLINE { full[f] = read<Full>(from + f * paired * unit); });
        if constexpr (odd) half = read<U8>(from + fulls * paired * unit);
    }
    TIMELIKE_INLINE void store(float* into) const {
        each<fulls>([&](auto f) TIMELIKE_INLINE { write(into + f * paired * unit, full[f]); });
        if constexpr (odd) write(into + fulls * paired * unit, half);
    }
    TIMELIKE_INLINE void clear() {
        each<fulls>([&](auto f) TIMELIKE_INLINE { full[f] = Full{}; });
        if constexpr (odd) half = U8{};
    }
    TIMELIKE_INLINE void add_product(float number, const Part& other) {
        const Full all = everywhere<Full>(number);
        each<fulls>([&](auto f) TIMELIKE_INLINE { full[f] = fused_full(all, other.full[f], full[f]); });
        if constexpr (odd) half = fused_unit(lower_unit(all), other.half, half);
    }
#if defined(__AVX512BF16__)
    // each number a pair of bfloat16; of whole registers only, as a compiler in use breaks on halves
    TIMELIKE_INLINE void add_pairs(float pair, const Part& other) {
        const Full all = everywhere_bits(pair);
        each<fulls>([&](auto f) TIMELIKE_INLINE { full[f] = dotted(full[f], all, other.full[f]); });
        static_assert(!odd, "whole registers only");
    }
#endif
    TIMELIKE_INLINE void add(const Part& other) {
        each<fulls>([&](auto f) TIMELIKE_INLINE { full[f] = full[f] + other.full[f]; });
        if constexpr (odd) half = half + other.half;
    }
};

// Units are dealt out evenly to as few panels as hold them, in whole registers.
inline int64_t panel_units(int64_t units, int64_t first) {
    const int64_t registers = (units + paired - 1) / paired, most = most_units / paired, panels = (registers + most - 1) / most;
    int64_t begin = 0;
    for (int64_t p = 0;; p++) {
        const int64_t width = registers / panels + (p < registers % panels);
        if (begin * paired >= first) return width * paired < units - first ? width * paired : units - first;
        begin += width;
    }
}

// What is multiplied: `taps` rows for every row of the result, `step` numbers apart, each of `inputs` numbers.
struct InputRows {
    const float* first;
    int64_t stride, step, taps, inputs;

    InputRows from(int64_t row) const { return {first + row * stride, stride, step, taps, inputs}; }
};

template <int Rows, int Units>
inline void multiply_tile(const InputRows& seen, const float* weights, const float* bias, float* out, int64_t out_stride) {
    Part<Units> sums[Rows], weight;
    if (bias) each<Rows>([&](auto r) TIMELIKE_INLINE { sums[r].load(bias); });
    else each<Rows>([&](auto r) TIMELIKE_INLINE { sums[r].clear(); });
    for (int64_t k = 0; k < seen.taps; k++) {
        const float* const from = seen.first + k * seen.step;
        for (int64_t i = 0; i < seen.inputs; i++, weights += Units * unit) {
            weight.load(weights);
            each<Rows>([&](auto r) TIMELIKE_INLINE { sums[r].add_product(from[r * seen.stride + i], weight); });
        }
    }
    each<Rows>([&](auto r) TIMELIKE_INLINE { sums[r].store(out + r * out_stride); });
}

template <int Units>
void multiply_panel(const InputRows& seen, const float* weights, const float* bias, int64_t rows, float* out, int64_t out_stride) {
    int64_t r = 0;
    for (; r + most_rows <= rows; r += most_rows)
        multiply_tile<most_rows, Units>(seen.from(r), weights, bias, out + r * out_stride, out_stride);
    if (most_rows > 4 && r + 4 <= rows) multiply_tile<4, Units>(seen.from(r), weights, bias, out + r * out_stride, out_stride), r += 4;
    if (most_rows > 2 && r + 2 <= rows) multiply_tile<2, Units>(seen.from(r), weights, bias, out + r * out_stride, out_stride), r += 2;
    if (r < rows) multiply_tile<1, Units>(seen.from(r), weights, bias, out + r * out_stride, out_stride);
}

typedef void (*MultiplyPanel)(const InputRows&, const float*, const float*, int64_t, float*, int64_t);
constexpr MultiplyPanel multiply_panels[] = {
    multiply_panel<1>, multiply_panel<2>, multiply_panel<3>,
#if defined(__AVX512F__)
    multiply_panel<4>, multiply_panel<5>, multiply_panel<6>,
#endif
};

// bias + Σ of what is seen times the matrix, for `rows` rows, each padded to units; no bias where it is null. The
// matrix may have more taps than count.
inline void multiply(const InputRows& seen, int64_t taps_of_matrix, const float* matrix, const float* bias, int64_t units, int64_t rows,
                     float* out, int64_t out_stride) {
    for (int64_t u = 0; u < units;) {
        const int64_t width = panel_units(units, u);
        multiply_panels[width - 1](seen, matrix + u * unit * taps_of_matrix * seen.inputs, bias ? bias + u * unit : nullptr, rows,
                                   out + u * unit, out_stride);
        u += width;
    }
}

template <int Inputs, int Units>
inline void outer_tile(const float* values, int64_t stride, const float* gradients, int64_t by, int64_t rows, float* into, int64_t width) {
    Part<Units> sums[Inputs], gradient;
    each<Inputs>([&](auto i) TIMELIKE_INLINE { sums[i].clear(); });
    for (int64_t r = 0; r < rows; r++) {
        gradient.load(gradients + r * by);
        each<Inputs>([&](auto i) TIMELIKE_INLINE { sums[i].add_product(values[r * stride + i], gradient); });
    }
    // a sum of its own for every call, added to what is there: a million small numbers one by one would be less exact
    each<Inputs>([&](auto i) TIMELIKE_INLINE {
        gradient.load(into + i * width);
        gradient.add(sums[i]);
        gradient.store(into + i * width);
    });
}

template <int Units>
void outer_panel(const float* values, int64_t stride, int64_t inputs, const float* gradients, int64_t by, int64_t rows, float* into,
                 int64_t width) {
    int64_t i = 0;
    for (; i + most_rows <= inputs; i += most_rows)
        outer_tile<most_rows, Units>(values + i, stride, gradients, by, rows, into + i * width, width);
    if (most_rows > 4 && i + 4 <= inputs) outer_tile<4, Units>(values + i, stride, gradients, by, rows, into + i * width, width), i += 4;
    if (most_rows > 2 && i + 2 <= inputs) outer_tile<2, Units>(values + i, stride, gradients, by, rows, into + i * width, width), i += 2;
    if (i < inputs) outer_tile<1, Units>(values + i, stride, gradients, by, rows, into + i * width, width);
}

typedef void (*OuterPanel)(const float*, int64_t, int64_t, const float*, int64_t, int64_t, float*, int64_t);
constexpr OuterPanel outer_panels[] = {
    outer_panel<1>, outer_panel<2>, outer_panel<3>,
#if defined(__AVX512F__)
    outer_panel<4>, outer_panel<5>, outer_panel<6>,
#endif
};

// Σ over `rows` rows of values (row, input) times gradients (row, output), added to (input, output padded to units).
inline void outer(const float* values, int64_t stride, int64_t inputs, const float* gradients, int64_t by, int64_t units, int64_t rows,
                  float* into) {
    for (int64_t u = 0; u < units;) {
        const int64_t width = panel_units(units, u);
        outer_panels[width - 1](values, stride, inputs, gradients + u * unit, by, rows, into + u * unit, units * unit);
        u += width;
    }
}

}  // namespace
}  // namespace timelike
