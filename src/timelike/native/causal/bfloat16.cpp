// Products of rows in bfloat16, two inputs in one instruction: compiled for processors that have it (CMakeLists.txt).
#include "causal/rows.hpp"

namespace timelike {
namespace {

template <int Rows, int Units>
inline void multiply_tile_rough(const InputRows& seen, const float* weights, const float* bias, float* out, int64_t out_stride) {
    Part<Units> sums[Rows], weight;
    each<Rows>([&](auto r) TIMELIKE_INLINE { sums[r].load(bias); });
    for (int64_t k = 0; k < seen.taps; k++) {
        const float* const from = seen.first + k * seen.step;
        for (int64_t i = 0; i < seen.inputs; i++, weights += Units * unit) {
            weight.load(weights);
            each<Rows>([&](auto r) TIMELIKE_INLINE { sums[r].add_pairs(from[r * seen.stride + i], weight); });
        }
    }
    each<Rows>([&](auto r) TIMELIKE_INLINE { sums[r].store(out + r * out_stride); });
}

template <int Units>
void multiply_panel_rough(const InputRows& seen, const float* weights, const float* bias, int64_t rows, float* out, int64_t out_stride) {
    int64_t r = 0;
    for (; r + most_rows <= rows; r += most_rows)
        multiply_tile_rough<most_rows, Units>(seen.from(r), weights, bias, out + r * out_stride, out_stride);
    for (; r < rows; r++) multiply_tile_rough<1, Units>(seen.from(r), weights, bias, out + r * out_stride, out_stride);
}

// whole registers only
constexpr MultiplyPanel panels[] = {multiply_panel_rough<2>, multiply_panel_rough<4>, multiply_panel_rough<6>};

// Pairs of bfloat16 travel as if they were single numbers: nothing but loads and the product looks at them.
void multiply_rough(const uint16_t* rows, int64_t stride, int64_t step, int64_t reached, int64_t taps, int64_t inputs,
                    const uint16_t* matrix, const float* bias, int64_t units, int64_t count, float* out, int64_t out_stride) {
    const InputRows seen{reinterpret_cast<const float*>(rows), stride / 2, step / 2, reached, inputs / 2};
    const float* const pairs = reinterpret_cast<const float*>(matrix);
    for (int64_t u = 0; u < units;) {
        const int64_t width = panel_units(units, u);
        panels[width / 2 - 1](seen, pairs + u * unit * taps * seen.inputs, bias + u * unit, count, out + u * unit, out_stride);
        u += width;
    }
}

void round(const float* from, int64_t count, uint16_t* into) {
    for (int64_t k = 0; k < count; k += unit) {
        const __m128bh rounded = _mm256_cvtneps_pbh((__m256)read<U8>(from + k));
        __builtin_memcpy(into + k, &rounded, sizeof rounded);
    }
}

}  // namespace

extern const CausalBfloat16 causal_rough;
const CausalBfloat16 causal_rough = {round, multiply_rough, nullptr, nullptr, nullptr, 0, nullptr};

}  // namespace timelike
