// Products of matrices in panels (recurrent/table.hpp). Every number is one chain of `fused` over its terms in their order,
// whatever else is computed beside it: a row gives the same bits in any company.
#pragma once
#include "machine/explog.hpp"
#include "recurrent/table.hpp"

namespace timelike {
namespace {

typedef vec<float> V;
constexpr int W = lanes<float>;
constexpr int64_t cached = 16384;  // bytes of a factor that is read again and again: half of a first cache

template <int Gates> constexpr int64_t width = Gates * W;

// as many sums as there are registers for, beside the factors
constexpr int rows_at_once(int registers) {
    const int most = (register_bytes == 64 ? 24 : 12) / registers;
    return most < 8 ? most : 8;
}

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline V repeated(float value) { return value - V{}; }  // not {} + value, which would have to make −0 a 0

// c (row, column) += a (row, k) · b (k, column): the panels of a are `stride` apart, c is one panel
template <int Rows, int Registers, int Gates>
inline void product_tile(const float* a, int64_t stride, int64_t depth, const float* b, float* c) {
    V sums[Rows][Registers];
    for (int r = 0; r < Rows; r++)
        for (int v = 0; v < Registers; v++) sums[r][v] = load(c + r * width<Gates> + v * W);
    for (; depth > 0; depth -= width<Gates>, a += stride) {
        const int64_t some = smaller(depth, width<Gates>);
        for (int64_t k = 0; k < some; k++, b += Registers * W) {
            V read[Registers];
            for (int v = 0; v < Registers; v++) read[v] = load(b + v * W);
            for (int r = 0; r < Rows; r++) {
                const V factor = repeated(a[r * width<Gates> + k]);
                for (int v = 0; v < Registers; v++) sums[r][v] = fused(factor, read[v], sums[r][v]);
            }
        }
    }
    for (int r = 0; r < Rows; r++)
        for (int v = 0; v < Registers; v++) store(c + r * width<Gates> + v * W, sums[r][v]);
}

// c (gate, column) += Σ over rows of d (row, gate) · x (row, column), each one panel
template <int Rows, int Registers, int Gates>
inline void outer_tile(const float* d, const float* x, int64_t count, float* c) {
    V sums[Rows][Registers];
    for (int r = 0; r < Rows; r++)
        for (int v = 0; v < Registers; v++) sums[r][v] = load(c + r * width<Gates> + v * W);
    for (int64_t row = 0; row < count; row++, d += width<Gates>, x += width<Gates>) {
        V read[Registers];
        for (int v = 0; v < Registers; v++) read[v] = load(x + v * W);
        for (int r = 0; r < Rows; r++) {
            const V factor = repeated(d[r]);
            for (int v = 0; v < Registers; v++) sums[r][v] = fused(factor, read[v], sums[r][v]);
        }
    }
    for (int r = 0; r < Rows; r++)
        for (int v = 0; v < Registers; v++) store(c + r * width<Gates> + v * W, sums[r][v]);
}

struct Product {
    const float* a;
    int64_t stride, depth;
    const float* b;
    template <int Rows, int Registers, int Gates>
    void tile(int64_t row, float* c) const {
        product_tile<Rows, Registers, Gates>(a + row * width<Gates>, stride, depth, b, c + row * width<Gates>);
    }
};

struct Outer {
    const float *d, *x;
    int64_t count;
    template <int Rows, int Registers, int Gates>
    void tile(int64_t row, float* c) const {
        outer_tile<Rows, Registers, Gates>(d + row, x, count, c + row * width<Gates>);
    }
};

// the last rows, fewer than a tile has
template <int Rows, int Registers, int Gates, class Work>
inline void rest(int64_t rows, const Work& work, int64_t row, float* c) {
    if constexpr (Rows > 0) {
        if (rows == Rows) work.template tile<Rows, Registers, Gates>(row, c);
        else rest<Rows - 1, Registers, Gates>(rows, work, row, c);
    }
}

template <int Registers, int Gates, class Work>
inline void in_tiles(int64_t rows, const Work& work, float* c) {
    constexpr int some = rows_at_once(Registers);
    int64_t row = 0;
    for (; row + some <= rows; row += some) work.template tile<some, Registers, Gates>(row, c);
    rest<some - 1, Registers, Gates>(rows - row, work, row, c);
}

// by parts of the depth whose b stays in the first cache; sums go through memory between them, which rounds nothing
template <int Registers, int Gates>
void multiply_by(int64_t rows, const float* a, int64_t stride, int64_t depth, const float* b, float* c) {
    constexpr int64_t fits = cached / (int64_t(sizeof(float)) * width<Gates> * Registers * W), panels = fits > 1 ? fits : 1;
    constexpr int64_t part = panels * width<Gates>;
    for (; depth > 0; depth -= part, a += panels * stride, b += part * Registers * W)
        in_tiles<Registers, Gates>(rows, Product{a, stride, smaller(depth, part), b}, c);
}

template <int Gates>
void multiply(int64_t registers, int64_t rows, const float* a, int64_t stride, int64_t depth, const float* b, float* c) {
    if (registers == 1) return multiply_by<1, Gates>(rows, a, stride, depth, b, c);
    if (registers == 2) return multiply_by<2, Gates>(rows, a, stride, depth, b, c);
    if (registers == 3) return multiply_by<3, Gates>(rows, a, stride, depth, b, c);
    if constexpr (Gates == 4) multiply_by<4, Gates>(rows, a, stride, depth, b, c);
}

template <int Registers, int Gates>
void add_outer_of(int64_t count, const float* d, const float* x, float* c) {
    constexpr int64_t part = cached / (int64_t(sizeof(float)) * width<Gates>);
    for (; count > 0; count -= part, d += part * width<Gates>, x += part * width<Gates>)
        in_tiles<Registers, Gates>(width<Gates>, Outer{d, x, smaller(count, part)}, c);
}

template <int Gates>
void add_outer(int64_t registers, int64_t count, const float* d, const float* x, float* c) {
    if (registers == 1) return add_outer_of<1, Gates>(count, d, x, c);
    if (registers == 2) return add_outer_of<2, Gates>(count, d, x, c);
    if (registers == 3) return add_outer_of<3, Gates>(count, d, x, c);
    if constexpr (Gates == 4) add_outer_of<4, Gates>(count, d, x, c);
}

}  // namespace
}  // namespace timelike
