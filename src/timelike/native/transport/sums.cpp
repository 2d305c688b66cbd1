// The sums of a plan exp(f_i + g_j − C_ij/ε) over its columns and over its rows in one pass: an exponential serves both, and
// the plan itself is never written. Of a set with itself an entry above the diagonal stands for the one below it too.
#include "machine/explog.hpp"
#include "transport/table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

typedef vec<double> Reg;
constexpr int64_t width = lanes<double>;
constexpr int strip = 4;                                          // rows whose sums are in registers at a time
constexpr int64_t group = width > strip ? width : int64_t(strip);  // rows that have the same first column

// exp of any number: what is beyond all numbers comes out as infinity or as none, and whoever reads the sum sees that
inline Reg unbounded(Reg x) {
    typedef decltype(x < x) Bits;
    const Bits beyond = (x > all(709.0)) & (Bits)all(infinity<double>);
    return (Reg)((Bits)exponential<double>(x) | beyond);
}

inline double sum(Reg value) {
    for (int64_t half = width / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half; l++) value[l] += value[l + half];
    return value[0];
}

// R rows from `i` on over the columns [from, to). `Inside` says that some of the columns are these rows themselves, for which
// each entry is met from both sides: it counts for its row alone there.
template <int R, bool Inside>
inline void add_strip(const PlanTile& q, int64_t i, int64_t from, int64_t to, Reg (&rows)[R]) {
    Reg f[R], a[R];
    for (int r = 0; r < R; r++) f[r] = all(q.f[i + r]), a[r] = all(q.a[i + r]);
    const Reg shrink = all(-q.shrink);
    for (int64_t k = from; k < to; k += width) {
        const Reg g = load(q.g + k), b = load(q.b + k);
        Reg column = {}, plan[R];
        for (int r = 0; r < R; r++) plan[r] = unbounded(fused(load(q.cost + (i + r) * q.stride + k), shrink, f[r]) + g);
        for (int r = 0; r < R; r++) rows[r] = fused(plan[r], b, rows[r]), column = fused(plan[r], a[r], column);
        if (Inside)
            for (int64_t l = 0; l < width; l++) column[l] = k + l < q.shared ? 0 : column[l];
        store(q.by_column + k, load(q.by_column + k) + column);
    }
}

template <int R>
inline void add_rows(const PlanTile& q, int64_t i) {
    Reg rows[R] = {};
    const int64_t own = i / group * group, after = q.shared > 0 ? own + group : 0;
    if (q.shared > 0) add_strip<R, true>(q, i, own, after, rows);
    add_strip<R, false>(q, i, after, q.width, rows);
    for (int r = 0; r < R; r++) q.by_row[i + r] += sum(rows[r]);
}

void sums(const PlanTile& q) {
    int64_t i = 0;
    for (; i + strip <= q.rows; i += strip) add_rows<strip>(q, i);
    for (; i < q.rows; i++) add_rows<1>(q, i);
}

}  // namespace

extern const PlanTable plan_table;
const PlanTable plan_table = {&sums};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
