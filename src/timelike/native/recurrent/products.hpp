// Products of matrices in panels (recurrent/table.hpp). Every number is one chain of `fused` over its terms in their order,
// whatever else is computed beside it: the bits of a row are independent of the other rows.
#pragma once
#include "machine/explog.hpp"
#include "recurrent/table.hpp"

namespace timelike {
namespace {

constexpr int64_t cached = 16384;  // bytes of a factor that is read again and again: half of a first cache

template <class T, int Gates> constexpr int64_t width = Gates * lanes<T>;

// as many sums as there are registers for, beside the factors
constexpr int rows_at_once(int registers) {
    const int most = (register_bytes == 64 ? 24 : 12) / registers;
    return most < 8 ? most : 8;
}

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
// not {} + value, which would have to make −0 a 0, and takes an instruction
template <class T> inline vec<T> repeated(T value) { return value - vec<T>{}; }

// c (row, column) += a (row, k) · b (k, column): the panels of a are `stride` apart, c is one panel
template <class T, int Rows, int Registers, int Gates>
inline void product_tile(const T* a, int64_t stride, int64_t depth, const T* b, T* c) {
    vec<T> sums[Rows][Registers];
    for (int r = 0; r < Rows; r++)
        for (int v = 0; v < Registers; v++) sums[r][v] = load(c + r * width<T, Gates> + v * lanes<T>);
    for (; depth > 0; depth -= width<T, Gates>, a += stride) {
        const int64_t some = smaller(depth, width<T, Gates>);
        for (int64_t k = 0; k < some; k++, b += Registers * lanes<T>) {
            vec<T> read[Registers];
            for (int v = 0; v < Registers; v++) read[v] = load(b + v * lanes<T>);
            for (int r = 0; r < Rows; r++) {
                const vec<T> factor = repeated(a[r * width<T, Gates> + k]);
                for (int v = 0; v < Registers; v++) sums[r][v] = fused(factor, read[v], sums[r][v]);
            }
        }
    }
    for (int r = 0; r < Rows; r++)
        for (int v = 0; v < Registers; v++) store(c + r * width<T, Gates> + v * lanes<T>, sums[r][v]);
}

// c (gate, column) += Σ over rows of d (row, gate) · x (row, column), each one panel
template <class T, int Rows, int Registers, int Gates>
inline void outer_tile(const T* d, const T* x, int64_t count, T* c) {
    vec<T> sums[Rows][Registers];
    for (int r = 0; r < Rows; r++)
        for (int v = 0; v < Registers; v++) sums[r][v] = load(c + r * width<T, Gates> + v * lanes<T>);
    for (int64_t row = 0; row < count; row++, d += width<T, Gates>, x += width<T, Gates>) {
        vec<T> read[Registers];
        for (int v = 0; v < Registers; v++) read[v] = load(x + v * lanes<T>);
        for (int r = 0; r < Rows; r++) {
            const vec<T> factor = repeated(d[r]);
            for (int v = 0; v < Registers; v++) sums[r][v] = fused(factor, read[v], sums[r][v]);
        }
    }
    for (int r = 0; r < Rows; r++)
        for (int v = 0; v < Registers; v++) store(c + r * width<T, Gates> + v * lanes<T>, sums[r][v]);
}

template <class T>
struct Product {
    const T* a;
    int64_t stride, depth;
    const T* b;
    template <int Rows, int Registers, int Gates>
    void tile(int64_t row, T* c) const {
        product_tile<T, Rows, Registers, Gates>(a + row * width<T, Gates>, stride, depth, b, c + row * width<T, Gates>);
    }
};

template <class T>
struct OuterProduct {
    const T *d, *x;
    int64_t count;
    template <int Rows, int Registers, int Gates>
    void tile(int64_t row, T* c) const {
        outer_tile<T, Rows, Registers, Gates>(d + row, x, count, c + row * width<T, Gates>);
    }
};

// the last rows, fewer than a tile has
template <class T, int Rows, int Registers, int Gates, class Work>
inline void rest(int64_t rows, const Work& work, int64_t row, T* c) {
    if constexpr (Rows > 0) {
        if (rows == Rows) work.template tile<Rows, Registers, Gates>(row, c);
        else rest<T, Rows - 1, Registers, Gates>(rows, work, row, c);
    }
}

template <class T, int Registers, int Gates, class Work>
inline void in_tiles(int64_t rows, const Work& work, T* c) {
    constexpr int some = rows_at_once(Registers);
    int64_t row = 0;
    for (; row + some <= rows; row += some) work.template tile<some, Registers, Gates>(row, c);
    rest<T, some - 1, Registers, Gates>(rows - row, work, row, c);
}

// by parts of the depth whose b stays in the first cache; sums go through memory between them, which rounds nothing
template <class T, int Registers, int Gates>
void multiply_by(int64_t rows, const T* a, int64_t stride, int64_t depth, const T* b, T* c) {
    constexpr int64_t fits = cached / (int64_t(sizeof(T)) * width<T, Gates> * Registers * lanes<T>), panels = fits > 1 ? fits : 1;
    constexpr int64_t part = panels * width<T, Gates>;
    for (; depth > 0; depth -= part, a += panels * stride, b += part * Registers * lanes<T>)
        in_tiles<T, Registers, Gates>(rows, Product<T>{a, stride, smaller(depth, part), b}, c);
}

template <class T, int Gates>
void multiply(int64_t registers, int64_t rows, const T* a, int64_t stride, int64_t depth, const T* b, T* c) {
    if (registers == 1) return multiply_by<T, 1, Gates>(rows, a, stride, depth, b, c);
    if (registers == 2) return multiply_by<T, 2, Gates>(rows, a, stride, depth, b, c);
    if (registers == 3) return multiply_by<T, 3, Gates>(rows, a, stride, depth, b, c);
    if constexpr (Gates == 4) multiply_by<T, 4, Gates>(rows, a, stride, depth, b, c);
}

template <class T, int Registers, int Gates>
void add_outer_of(int64_t count, const T* d, const T* x, T* c) {
    constexpr int64_t part = cached / (int64_t(sizeof(T)) * width<T, Gates>);
    for (; count > 0; count -= part, d += part * width<T, Gates>, x += part * width<T, Gates>)
        in_tiles<T, Registers, Gates>(width<T, Gates>, OuterProduct<T>{d, x, smaller(count, part)}, c);
}

template <class T, int Gates>
void add_outer(int64_t registers, int64_t count, const T* d, const T* x, T* c) {
    if (registers == 1) return add_outer_of<T, 1, Gates>(count, d, x, c);
    if (registers == 2) return add_outer_of<T, 2, Gates>(count, d, x, c);
    if (registers == 3) return add_outer_of<T, 3, Gates>(count, d, x, c);
    if constexpr (Gates == 4) add_outer_of<T, 4, Gates>(count, d, x, c);
}

}  // namespace
}  // namespace timelike
