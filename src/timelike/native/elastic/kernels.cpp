// The kernels, compiled once per instruction set (see CMakeLists.txt for what this file may not include).
#include "elastic/cells.hpp"
#include "elastic/strip.hpp"
#include "elastic/sweep.hpp"
#include "elastic/table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

// A rule's struct with all its parameters but the number of rows
template <template <bool, int, class, class> class Cell, bool One, class T, class V>
struct FixedCostRule {
    template <int R> using cell = Cell<One, R, T, V>;
};

template <template <Cost, bool, int, class, class> class Cell, Cost C, bool One, class T, class V>
struct AnyCostRule {
    template <int R> using cell = Cell<C, One, R, T, V>;
    template <int R> using counted = WithPathLength<cell<R>, T, V>;
    template <int R> using reaching = WithBandwidth<cell<R>, T, V>;
};

// Calls visit.go<Cell>, Cell a template over the number of rows: for a rule with a cost of its own …
template <template <bool, int, class, class> class Cell, bool One, class T, class V, class Visit>
inline void visit_rule(const Recurrence&, Visit& visit) {
    visit.template go<FixedCostRule<Cell, One, T, V>::template cell>();
}

// … and for one that takes any, perhaps followed by a count
template <template <Cost, bool, int, class, class> class Cell, Cost C, bool One, class T, class V, class Visit>
inline void visit_cost(const Recurrence& how, Visit& visit) {
    using P = AnyCostRule<Cell, C, One, T, V>;
    if constexpr (!(P::template cell<1>::traits & Trait::missing)) {
        if constexpr (Visit::reaches)
            if (how.reach) return visit.template go<P::template reaching>();
        if (how.counted) return visit.template go<P::template counted>();
    }
    return visit.template go<P::template cell>();
}

template <template <Cost, bool, int, class, class> class Cell, bool One, class T, class V, class Visit>
inline void visit_rule(const Recurrence& how, Visit& visit) {
    switch (how.cost) {
        case Cost::euclidean: return visit_cost<Cell, Cost::euclidean, One, T, V>(how, visit);
        case Cost::manhattan: return visit_cost<Cell, Cost::manhattan, One, T, V>(how, visit);
        case Cost::sqeuclidean: return visit_cost<Cell, Cost::sqeuclidean, One, T, V>(how, visit);
    }
}

template <bool One, class T, class V, class Visit>
inline void visit_cell(const Recurrence& how, Visit& visit) {
    switch (how.rule) {
#define TIMELIKE_CASE(name, Cell) \
    case Rule::name: return visit_rule<Cell, One, T, V>(how, visit);
        TIMELIKE_RULES(TIMELIKE_CASE)
#undef TIMELIKE_CASE
    }
}

struct Traits {
    static constexpr bool reaches = false;
    int found = 0;
    template <template <int> class Cell> void go() { found = Cell<1>::traits; }  // alike for all numbers of rows
};

template <class T>
int traits(const Recurrence& how) {
    Traits visit;
    visit_cell<true, T, T>(how, visit);
    return visit.found;
}

template <class T>
struct Sweep {
    static constexpr bool reaches = true;
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
    if (x.channels == 1) visit_cell<true, T, vec<T>>(how, visit);
    else visit_cell<false, T, vec<T>>(how, visit);
}

template <class T>
struct RowByRow {
    static constexpr bool reaches = false;
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
    if (x.channels == 1) visit_cell<true, T, T>(how, visit);
    else visit_cell<false, T, T>(how, visit);
}

template <class T>
void interleave(const PackedSequences<T>& y, const int64_t* items, int used, int64_t length, T* into) {
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

template <class T>
struct Edges {
    static constexpr bool reaches = false;
    const Recurrence& how;
    Frame<T> first;
    int64_t length;
    T *edge, *border;
    template <template <int> class Cell> void go() {
        if constexpr (Cell<1>::traits & (Trait::edges | Trait::border))
            for (int l = 0; l < first.width; l++) {
                T sum = 0;
                for (int64_t k = 0; k < length; k++) {
                    Frame<T> frame = first;
                    frame.values += k * first.channels * first.width + l;
                    const T step = Cell<1>::edge(how, frame);
                    sum += step;
                    if (edge) edge[k * first.width + l] = step;
                    if (border) border[k * first.width + l] = sum;
                }
            }
    }
};

template <class T>
void edges(const Recurrence& how, Frame<T> first, int64_t length, T* edge, T* border) {
    Edges<T> visit{how, first, length, edge, border};
    visit_cell<true, T, T>(how, visit);
}

template <class T>
struct Offsets {
    static constexpr bool reaches = false;
    const Recurrence& how;
    int64_t n, m;
    T* into;
    template <template <int> class Cell> void go() {
        if constexpr (Cell<1>::traits & Trait::offsets)
            for (int64_t d = -m; d < n; d++)
                into[d + m] = T(Cell<1>::offset(how, double(d < 0 ? -d : d), double(n > m ? n : m)));
    }
};

template <class T>
void offsets(const Recurrence& how, int64_t n, int64_t m, T* into) {
    Offsets<T> visit{how, n, m, into};
    visit_cell<true, T, T>(how, visit);
}

// The larger of both ways round: each is a bound by itself, and both cost one pass.
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
    return {lanes<T>, traits<T>, interleave<T>, edges<T>, offsets<T>, sweep<T>, strip<T>, rows<T>, keogh<T>};
}

}  // namespace

#define TIMELIKE_NAME(name, Cell) #name,
extern const Table table;
const char* const names[] = {TIMELIKE_RULES(TIMELIKE_NAME) nullptr};
const Table table = {names, offered<float>(), offered<double>()};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
