// The sums of similarity/table.hpp, compiled once per instruction set. A pair is added up along the lanes of one register
// and then over its lanes in a fixed order, wherever in a tile it stands: no number depends on the rows beside it.
#include "machine/lanes.hpp"
#include "similarity/table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

// Pairs of 4 left and 2 or 4 right rows have a register each, and every load serves several of them.
constexpr int R = 4, C = register_bytes == 64 ? 4 : 2;

inline int64_t rounded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

template <class T>
int64_t stride(int64_t hidden) { return rounded(hidden, lanes<T>); }

int64_t filled(int64_t rows) { return rounded(rows, R > C ? R : C); }

template <class T>
void offsets(const T* rows, int64_t count, int64_t hidden, const double* share, double base, double* into) {
    constexpr int apart = 8;  // sums that do not wait for each other
    for (const T* row = rows; row < rows + count * hidden; row += hidden) {
        double sums[apart] = {};
        int64_t h = 0;
        for (; h + apart <= hidden; h += apart)
            for (int k = 0; k < apart; k++) sums[k] += share[h + k] * double(row[h + k]);
        for (int k = 0; h + k < hidden; k++) sums[k] += share[h + k] * double(row[h + k]);
        for (int k = 1; k < apart; k++) sums[0] += sums[k];
        *into++ = base + sums[0];
    }
}

template <class T>
void fill(const T* rows, int64_t count, int64_t hidden, T sign, T* into) {
    const int64_t width = stride<T>(hidden);
    for (int64_t i = 0; i < filled(count); i++, into += width) {
        const int64_t own = i < count ? hidden : 0;
        for (int64_t h = 0; h < own; h++) into[h] = sign * rows[i * hidden + h];
        for (int64_t h = own; h < width; h++) into[h] = 0;
    }
}

// Σ w max(x, y) of R rows of x and C rows of y, (R, C).
template <class T>
inline void sums(const T* x, const T* y, const T* weight, int64_t stride, T* ranked) {
    constexpr int W = lanes<T>;
    vec<T> sum[R * C] = {};
    for (int64_t h = 0; h < stride; h += W) {
        const vec<T> w = load(weight + h);
        vec<T> of_y[C];
        for (int j = 0; j < C; j++) of_y[j] = load(y + j * stride + h);
        for (int i = 0; i < R; i++) {
            const vec<T> of_x = load(x + i * stride + h);
            for (int j = 0; j < C; j++) sum[i * C + j] = fused(w, most(of_x, of_y[j]), sum[i * C + j]);
        }
    }
    for (int first = 0; first < R * C; first += W) {
        vec<T> rows[W];
        for (int k = 0; k < W; k++) rows[k] = sum[first + k];
        store(ranked + first, row_sums<T>(rows));
    }
}

template <class T>
void tile(const SimilarityRows<T>& left, const SimilarityRows<T>& right, const T* weight, int64_t stride, T* out, int64_t down, int64_t across) {
    T ranked[R * C];
    for (int64_t i = 0; i < left.count; i += R)
        for (int64_t j = 0; j < right.count; j += C) {
            sums(left.values + i * stride, right.values + j * stride, weight, stride, ranked);
            const int64_t rows = left.count - i < R ? left.count - i : R, columns = right.count - j < C ? right.count - j : C;
            for (int64_t k = 0; k < rows; k++)
                for (int64_t l = 0; l < columns; l++)
                    out[(i + k) * down + (j + l) * across] = T(left.offsets[i + k] + right.offsets[j + l] + double(ranked[k * C + l]));
        }
}

}  // namespace

extern const SimilarityTable similarity_table;
const SimilarityTable similarity_table = {{stride<float>, filled, offsets<float>, fill<float>, tile<float>},
                                          {stride<double>, filled, offsets<double>, fill<double>, tile<double>}};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
