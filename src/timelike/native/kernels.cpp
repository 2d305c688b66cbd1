// Elastic distances, compiled once per instruction set (see CMakeLists.txt for what this file may not include).
//
// Schedule: one pair per SIMD lane. A tile is one sequence x, read as broadcast scalars, against as many sequences y as
// the register has lanes. `rows` rows of the dynamic program are swept in one pass over the columns, so that a column
// costs one load of y and one load and store of the running row, and the cells between stay in registers.
#include "simd.hpp"
#include "table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int rows_per_pass = 8;
#else
constexpr int rows_per_pass = 4;  // sixteen registers
#endif

// Costs of `R` rows against one column, for lanes or for scalars. With one channel the square stays unsummed, so that
// the compiler folds it with the addition that follows into one rounding: the same in every schedule.
template <Cost C, int R, class T, class V>
inline void costs(const T* x, const V* y, int64_t channels, V (&cost)[R]) {
    for (int r = 0; r < R; r++) cost[r] = V{};
    for (int64_t c = 0; c < channels; c++) {
        V column = y[c];
        for (int r = 0; r < R; r++) {
            V difference = x[r * channels + c] - column;
            cost[r] += C == Cost::manhattan ? magnitude(difference) : difference * difference;
        }
    }
    if (C == Cost::euclidean)
        for (int r = 0; r < R; r++) cost[r] = root(cost[r]);
}

template <Cost C, class T, class V>
inline V single(T x, V y) {
    V difference = x - y;
    return C == Cost::sqeuclidean ? difference * difference : magnitude(difference);
}

// R consecutive rows of the program: `row` holds the row above on entry and the last of the R rows on return.
template <Cost C, bool One, int R, class T, class V>
inline void pass(const T* x, const V* y, int64_t channels, V* row, const int32_t* lo, const int32_t* hi) {
    const V blocked = V{} + infinity<T>;
    V left[R];
    for (int r = 0; r < R; r++) left[r] = blocked;
    const int64_t first = lo[0], last = hi[R - 1];
    V corner = row[first - 1];
    row[first - 1] = blocked;  // below this row the column is outside the band

    auto column = [&](int64_t j, auto inside) {
        V above = row[j], diagonal = corner, cost[R];
        corner = above;
        if (!One) costs<C, R>(x, y + j * channels, channels, cost);
        for (int r = 0; r < R; r++) {
            V before = left[r];
            V best = least(least(before, diagonal), above);
            V here = One ? single<C>(x[r], y[j]) + best : cost[r] + best;
            diagonal = before;
            above = left[r] = inside(r) ? here : blocked;
        }
        row[j] = above;
    };
    auto checked = [&](int64_t j) { column(j, [&](int r) { return j >= lo[r] && j <= hi[r]; }); };
    const int64_t full = lo[R - 1] <= hi[0] ? lo[R - 1] : last + 1, empty = hi[0] + 1;
    int64_t j = first;
    for (; j <= last && j < full; j++) checked(j);
    for (; j <= last && j < empty; j++) column(j, [](int) { return true; });
    for (; j <= last; j++) checked(j);
}

template <Cost C, bool One, class T>
void sweep(const T* x, int64_t n, int64_t channels, const Lanes<T>& y, Band band, T* scratch, T* distances,
           const volatile bool* stop) {
    using V = vec<T>;
    constexpr int R = rows_per_pass;
    const V* columns = (const V*)y.interleaved;
    V* row = (V*)scratch + 1;
    row[-1] = V{};
    for (int64_t j = 0; j < y.length; j++) row[j] = V{} + infinity<T>;
    int64_t i = 0;
    for (; i + R <= n && !*stop; i += R)
        pass<C, One, R>(x + i * channels, columns, channels, row, band.lo + i, band.hi + i);
    for (; i < n && !*stop; i++)
        pass<C, One, 1>(x + i * channels, columns, channels, row, band.lo + i, band.hi + i);
    for (int l = 0; l < y.used; l++) distances[l] = ((const T*)(row + y.lengths[l] - 1))[l];
}

template <bool One, class T>
void with_cost(Cost cost, const T* x, int64_t n, int64_t channels, const Lanes<T>& y, Band band, T* row, T* distances,
               const volatile bool* stop) {
    switch (cost) {
        case Cost::sqeuclidean: return sweep<Cost::sqeuclidean, One>(x, n, channels, y, band, row, distances, stop);
        case Cost::euclidean: return sweep<Cost::euclidean, One>(x, n, channels, y, band, row, distances, stop);
        case Cost::manhattan: return sweep<Cost::manhattan, One>(x, n, channels, y, band, row, distances, stop);
    }
}

template <class T>
void dtw(const T* x, int64_t n, int64_t channels, const Lanes<T>& y, Band band, Cost cost, T* row, T* distances,
         const volatile bool* stop) {
    if (channels == 1)
        with_cost<true>(cost, x, n, channels, y, band, row, distances, stop);
    else
        with_cost<false>(cost, x, n, channels, y, band, row, distances, stop);
}

template <class T>
void interleave(const Collection<T>& y, const int64_t* items, int used, int64_t length, T* into) {
    constexpr int W = lanes<T>;
    const int64_t channels = y.channels;
    for (int l = 0; l < W; l++) {
        const int64_t steps = l < used ? y.lengths[items[l]] * channels : 0;
        const T* from = l < used ? y.values + y.starts[items[l]] * channels : nullptr;
        for (int64_t k = 0; k < steps; k++) into[k * W + l] = from[k];
        for (int64_t k = steps; k < length * channels; k++) into[k * W + l] = T(0);
    }
}

enum Direction : uint8_t { diagonal = 0, up = 1, left = 2 };

// One pair with its path: the whole program in two bits a cell. Ties prefer the diagonal, then the step in x.
template <Cost C, bool One, class T>
int64_t trace(const T* x, int64_t n, const T* y, int64_t m, int64_t channels, Band band, T* scratch, uint8_t* directions,
              int64_t* path, T* distance, const volatile bool* stop) {
    const int64_t stride = (m + 3) / 4;
    T* row = scratch + 1;
    row[-1] = T(0);
    for (int64_t j = 0; j < m; j++) row[j] = infinity<T>;
    for (int64_t i = 0; i < n; i++) {
        if (*stop) return 0;
        uint8_t* marks = directions + i * stride;
        const int64_t first = band.lo[i], last = band.hi[i];
        T corner = row[first - 1], before = infinity<T>;
        row[first - 1] = infinity<T>;
        for (int64_t k = first / 4; k <= last / 4; k++) marks[k] = 0;
        for (int64_t j = first; j <= last; j++) {
            T above = row[j], cost[1];
            if (!One) costs<C, 1>(x + i * channels, y + j * channels, channels, cost);
            T best = least(least(before, corner), above);
            uint8_t way = corner == best ? diagonal : above == best ? up : left;
            marks[j / 4] |= uint8_t(way << (2 * (j % 4)));
            before = One ? single<C>(x[i], y[j]) + best : cost[0] + best;
            corner = above;
            row[j] = before;
        }
    }
    *distance = row[m - 1];
    int64_t i = n - 1, j = m - 1, steps = 0;
    int64_t* end = path + 2 * (n + m - 1);
    for (;;) {
        end -= 2, steps++;
        end[0] = i, end[1] = j;
        if (i == 0 && j == 0) return steps;
        const uint8_t way = i == 0 ? left : j == 0 ? up : directions[i * stride + j / 4] >> (2 * (j % 4)) & 3;
        if (way != left) i--;
        if (way != up) j--;
    }
}

template <class T>
int64_t dtw_path(const T* x, int64_t n, const T* y, int64_t m, int64_t channels, Band band, Cost cost, T* row,
                 uint8_t* directions, int64_t* path, T* distance, const volatile bool* stop) {
    auto run = [&](auto traced) { return traced(x, n, y, m, channels, band, row, directions, path, distance, stop); };
    const bool one = channels == 1;
    switch (cost) {
        case Cost::sqeuclidean: return run(one ? trace<Cost::sqeuclidean, true, T> : trace<Cost::sqeuclidean, false, T>);
        case Cost::euclidean: return run(one ? trace<Cost::euclidean, true, T> : trace<Cost::euclidean, false, T>);
        case Cost::manhattan: return run(one ? trace<Cost::manhattan, true, T> : trace<Cost::manhattan, false, T>);
    }
    return 0;
}

template <class T>
constexpr Kernels<T> offered() { return {lanes<T>, interleave<T>, dtw<T>, dtw_path<T>}; }

}  // namespace

#define TIMELIKE_TEXT_(name) #name
#define TIMELIKE_TEXT(name) TIMELIKE_TEXT_(name)
extern const Table table;
const Table table = {TIMELIKE_TEXT(TIMELIKE_ISA), offered<float>(), offered<double>()};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
