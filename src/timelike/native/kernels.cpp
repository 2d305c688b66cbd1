// The kernels, compiled once per instruction set (see CMakeLists.txt for what this file may not include).
#include "cells.hpp"
#include "strip.hpp"
#include "sweep.hpp"
#include "table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

template <bool One, class T, class V>
struct Family {
    template <Cost C> struct Plain {
        template <int R> using dtw = Dtw<C, One, R, T, V>;
        template <int R> using symmetric2 = Symmetric2<C, One, R, T, V>;
        template <int R> using counted = Counted<Dtw<C, One, R, T, V>, T, V>;
        template <int R> using counted2 = Counted<Symmetric2<C, One, R, T, V>, T, V>;
    };
    template <int R> using amerced = Amerced<One, R, T, V>;
    template <int R> using weighted = Weighted<One, R, T, V>;
    template <int R> using erp = Edits<Erp<One, R, T, V>>;
    template <int R> using edr = Edits<Edr<One, R, T, V>>;
    template <int R> using lcss = Edits<Lcss<One, R, T, V>>;
    template <int R> using msm = Edits<Msm<One, R, T, V>>;
    template <int R> using twe = Edits<Twe<One, R, T, V>>;
};

// Calls visit.go<Cell>, Cell a template over the number of rows, for the cell that the recurrence asks for
template <class F, Cost C, class Visit>
inline void visit_plain(const Recurrence& how, Visit& visit) {
    using P = typename F::template Plain<C>;
    const bool twice = how.rule == Rule::symmetric2;
    if (how.counted) return twice ? visit.template go<P::template counted2>() : visit.template go<P::template counted>();
    return twice ? visit.template go<P::template symmetric2>() : visit.template go<P::template dtw>();
}

template <class F, class Visit>
inline void visit_cell(const Recurrence& how, Visit& visit) {
    switch (how.rule) {
        case Rule::dtw:
        case Rule::symmetric2:
            switch (how.cost) {
                case Cost::euclidean: return visit_plain<F, Cost::euclidean>(how, visit);
                case Cost::manhattan: return visit_plain<F, Cost::manhattan>(how, visit);
                case Cost::sqeuclidean: return visit_plain<F, Cost::sqeuclidean>(how, visit);
            }
            return;
        case Rule::amerced: return visit.template go<F::template amerced>();
        case Rule::weighted: return visit.template go<F::template weighted>();
        case Rule::erp: return visit.template go<F::template erp>();
        case Rule::edr: return visit.template go<F::template edr>();
        case Rule::lcss: return visit.template go<F::template lcss>();
        case Rule::msm: return visit.template go<F::template msm>();
        case Rule::twe: return visit.template go<F::template twe>();
    }
}

template <class T>
struct Sweep {
    const Recurrence& how;
    const Rows<T>& x;
    const Lanes<T>& y;
    Band band;
    T *row, *distances, *counts;
    const T* limits;
    const volatile bool* stop;
    template <template <int> class Cell> void go() {
        sweep_cell<Cell, T>(how, x, y, band, row, distances, counts, limits, stop);
    }
};

template <class T>
void sweep(const Recurrence& how, const Rows<T>& x, const Lanes<T>& y, Band band, T* row, T* distances, T* counts,
           const T* limits, const volatile bool* stop) {
    Sweep<T> visit{how, x, y, band, row, distances, counts, limits, stop};
    if (x.channels == 1) visit_cell<Family<true, T, vec<T>>>(how, visit);
    else visit_cell<Family<false, T, vec<T>>>(how, visit);
}

template <class T>
struct RowByRow {
    const Recurrence& how;
    const Rows<T>& x;
    const Lanes<T>& y;
    Band band;
    int64_t first, last;
    T* row;
    uint8_t* marks;
    int64_t stride;
    T* matrix;
    const volatile bool* stop;
    template <template <int> class Cell> void go() {
        scalar_rows<Cell<1>, T>(how, x, y, band, first, last, row, marks, stride, matrix, stop);
    }
};

template <class T>
void rows(const Recurrence& how, const Rows<T>& x, const Lanes<T>& y, Band band, int64_t first, int64_t last, T* row,
          uint8_t* marks, int64_t stride, T* matrix, const volatile bool* stop) {
    RowByRow<T> visit{how, x, y, band, first, last, row, marks, stride, matrix, stop};
    if (x.channels == 1) visit_cell<Family<true, T, T>>(how, visit);
    else visit_cell<Family<false, T, T>>(how, visit);
}

template <class T>
void interleave(const Collection<T>& y, const int64_t* items, int used, int64_t length, T* into) {
    constexpr int W = lanes<T>;
    const int64_t channels = y.channels;
    for (int64_t k = 0; k < channels * W; k++) into[k] = T(0);
    into += channels * W;
    for (int l = 0; l < W; l++) {
        const int64_t steps = l < used ? y.lengths[items[l]] * channels : 0;
        const T* from = l < used ? y.values + y.starts[items[l]] * channels : nullptr;
        for (int64_t k = 0; k < steps; k++) into[k * W + l] = from[k];
        for (int64_t k = steps; k < length * channels; k++) into[k * W + l] = T(0);
    }
}

// Euclidean norm of a frame minus another, lane by lane
template <class T>
inline T apart(const T* a, const T* b, int64_t channels, int width, bool spread) {
    T sum = 0;
    for (int64_t c = 0; c < channels; c++) {
        const T difference = a[c * width] - b[spread ? c * width : c];
        sum = fused(difference, difference, sum);
    }
    return channels == 1 ? magnitude(T(a[0] - b[0])) : root(sum);
}

template <class T>
void edges(const T* values, int64_t length, int64_t channels, int width, const Recurrence& how, const T* gap, T* edge,
           T* border) {
    for (int l = 0; l < width; l++) {
        T sum = 0;
        for (int64_t k = 0; k < length; k++) {
            const T* frame = values + k * channels * width + l;
            T step = 0;
            if (how.rule == Rule::erp) step = apart(frame, gap, channels, width, false);
            if (how.rule == Rule::twe) step = apart(frame, frame - channels * width, channels, width, true) + T(how.first) + T(how.second);
            if (how.rule == Rule::edr) step = T(1);
            sum += step;
            if (edge) edge[k * width + l] = step;
            if (border) border[k * width + l] = sum;
        }
    }
}

template <class T>
void keogh(const T* query, const T* query_low, const T* query_high, const T* columns, const T* low, const T* high,
           int64_t steps, T* bounds) {
    using V = vec<T>;
    V forth = V{}, back = V{};
    for (int64_t k = 0; k < steps; k++) {
        const V y = ((const V*)columns)[k];
        const V out = most(most(V(y - query_high[k]), V(query_low[k] - y)), V{});
        const V in = most(most(V(query[k] - ((const V*)high)[k]), V(((const V*)low)[k] - query[k])), V{});
        forth = fused(out, out, forth);
        back = fused(in, in, back);
    }
    *(V*)bounds = most(forth, back);
}

template <class T>
constexpr Kernels<T> offered() {
    return {lanes<T>, interleave<T>, edges<T>, sweep<T>, strip<T>, rows<T>, keogh<T>};
}

}  // namespace

#define TIMELIKE_TEXT_(name) #name
#define TIMELIKE_TEXT(name) TIMELIKE_TEXT_(name)
extern const Table table;
const Table table = {TIMELIKE_TEXT(TIMELIKE_ISA), offered<float>(), offered<double>()};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
