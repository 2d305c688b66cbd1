// The normal equations of a plan's column potentials: diag(c) − n TᵀT, factored where it stands.
// The matrix has the null vector 1 for each connected part of the plan; a pivot that is zero but for rounding is skipped,
// which fixes one potential of that part at 0.
#pragma once
#include <stdint.h>

#include "machine/simd.hpp"

namespace timelike {
namespace {

typedef vec<double> Reg;
constexpr int64_t width = lanes<double>;

inline Reg all(double value) { return value - Reg{}; }  // 0 + value would turn -0 round, so it is a real addition

inline double sum(Reg value) {
    for (int64_t half = width / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half; l++) value[l] += value[l + half];
    return value[0];
}

// to += factor × from, from column `begin` (or a little before it, where nothing is read) to the end of the row
inline void add_row(double factor, const double* from, double* to, int64_t begin, int64_t stride) {
    for (int64_t k = begin / width * width; k < stride; k += width) store(to + k, fused(all(factor), load(from + k), load(to + k)));
}

// A_jk −= factor Σ_p R_pj R_pk for k ≥ j ≥ first; below the diagonal A is undefined. `first` is a multiple of 4.
inline void subtract_products(double* A, const double* R, int64_t rows, double factor, int64_t first, int64_t m, int64_t stride,
                              const volatile bool* stop) {
    constexpr int64_t tall = 4, wide = 2 * width, chunk = 64;  // eight accumulators; rows at a time that stay in cache
    for (int64_t from = 0; from < rows; from += chunk) {
        const int64_t to = from + chunk < rows ? from + chunk : rows;
        for (int64_t j = first; j < m && !*stop; j += tall)
            for (int64_t k = j / wide * wide; k < m; k += wide) {
                Reg total[tall][2] = {};
                for (int64_t p = from; p < to; p++) {
                    const double* row = R + p * stride;
                    const Reg left = load(row + k), right = load(row + k + width);
                    for (int64_t r = 0; r < tall; r++) {
                        const Reg one = all(row[j + r]);
                        total[r][0] = fused(one, left, total[r][0]);
                        total[r][1] = fused(one, right, total[r][1]);
                    }
                }
                for (int64_t r = 0; r < tall; r++)
                    for (int64_t h = 0; h < 2; h++) {
                        double* into = A + (j + r) * stride + k + h * width;
                        store(into, load(into) - all(factor) * total[r][h]);
                    }
            }
    }
}

// A = UᵀU, by panels of rows; `inverse` takes the reciprocals of U's diagonal, 0 where a pivot is skipped.
inline void factor(double* A, const double* scale, double* inverse, int64_t m, int64_t stride, const volatile bool* stop) {
    constexpr int64_t panel = 32;
    for (int64_t begin = 0; begin < m && !*stop; begin += panel) {
        const int64_t end = begin + panel < m ? begin + panel : m;
        for (int64_t k = begin; k < end; k++) {
            double* row = A + k * stride;
            inverse[k] = row[k] > 1e-13 * scale[k] ? 1 / root(row[k]) : 0;
            for (int64_t j = k + 1; j < stride; j++) row[j] *= inverse[k];
            for (int64_t j = k + 1; j < end; j++) add_row(-row[j], row, A + j * stride, j, stride);
        }
        subtract_products(A, A + begin * stride, end - begin, 1, end, m, stride, stop);
    }
}

// x with UᵀU x = r, in place of r
inline void solve(const double* U, const double* inverse, double* r, int64_t m, int64_t stride) {
    const auto row = [&](int64_t k) { return U + k * stride; };
    for (int64_t k = 0; k < m; k++) {
        r[k] *= inverse[k];
        for (int64_t j = k + 1; j < m; j++) r[j] -= row(k)[j] * r[k];
    }
    for (int64_t k = m - 1; k >= 0; k--) {
        Reg wide = {};
        double rest = r[k];
        int64_t j = k + 1;
        for (; j < m && j % width; j++) rest -= row(k)[j] * r[j];
        for (; j + width <= m; j += width) wide = fused(load(row(k) + j), load(r + j), wide);
        for (; j < m; j++) rest -= row(k)[j] * r[j];
        r[k] = (rest - sum(wide)) * inverse[k];
    }
}

// The potentials that answer the column sums `r`, in place of it; `c` are the plan's own column sums. Of many columns this is a matter
// of seconds; once it is stopped, what stands in `r` means nothing.
inline void answer(const double* plan, const double* c, double* A, double* inverse, double* r, int64_t n, int64_t m, int64_t stride,
                   const volatile bool* stop) {
    for (int64_t j = 0; j < stride * stride; j++) A[j] = 0;
    for (int64_t j = 0; j < m; j++) A[j * stride + j] = c[j];
    subtract_products(A, plan, n, double(n), 0, m, stride, stop);
    factor(A, c, inverse, m, stride, stop);
    if (*stop) return;
    solve(A, inverse, r, m, stride);
}

}  // namespace
}  // namespace timelike
