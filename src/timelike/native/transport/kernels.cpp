// The loops of transport/table.hpp, compiled once per instruction set.
// Potentials live in the log domain and the plan is kept beside them: cheap scalings run on the plan, and it is made again
// from the potentials when they have moved far, so that nothing underflows for good.
#include "transport/normal.hpp"
#include "machine/simd.hpp"
#include "transport/table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

constexpr double lowest = -700;    // exp of less is 0: it would be denormal soon
constexpr double far = 1e30;       // a scaling beyond it, or below its inverse, is absorbed
constexpr double lost = 1e-290;    // a column sum below it has underflowed
constexpr int64_t sweeps = 8;      // scalings in a round
constexpr double padding = 1e300;  // the cost of a column that does not exist

// exp of x ≤ 0: 2^k times a Taylor polynomial on |r| ≤ ln(2)/2, good to the last bit or two
inline Reg exponential(Reg x) {
    typedef decltype(x < x) Bits;
    constexpr double shift = 6755399441055744.0;  // 1.5 × 2^52: adding it leaves k in the low bits
    const Reg floor = most(x, all(lowest));
    const Reg shifted = fused(floor, all(1.4426950408889634), all(shift)), k = shifted - shift;
    Reg r = fused(k, all(-6.93147180369123816490e-01), floor);
    r = fused(k, all(-1.90821492927058770002e-10), r);
    constexpr double terms[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                                1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5,         1.0, 1.0};
    Reg p = all(1.0 / 6227020800);
    for (const double term : terms) p = fused(p, r, all(term));
    const Reg value = (Reg)((Bits)p + ((Bits)shifted << 52));
    return x < all(lowest) ? Reg{} : value;
}

inline double lowest_of(Reg values) {
    for (int64_t half = width / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half; l++) values[l] = least(values[l], values[l + half]);
    return values[0];
}

template <Cost C>
void frames_of(const double* x, const double* y, int64_t channels, int64_t n, int64_t stride, double* into) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < stride; k += width) {
            Reg total = {};
            for (int64_t c = 0; c < channels; c++) {
                const Reg apart = all(x[i * channels + c]) - load(y + c * stride + k);
                total += C == Cost::manhattan ? magnitude(apart) : apart * apart;
            }
            store(into + i * stride + k, C == Cost::euclidean ? root(total) : total);
        }
}

void frames(Cost cost, const double* x, const double* y, int64_t channels, int64_t n, int64_t stride, double* into) {
    if (cost == Cost::sqeuclidean) frames_of<Cost::sqeuclidean>(x, y, channels, n, stride, into);
    else if (cost == Cost::euclidean) frames_of<Cost::euclidean>(x, y, channels, n, stride, into);
    else frames_of<Cost::manhattan>(x, y, channels, n, stride, into);
}

void ground(const Prior& prior, const double* frames, int64_t n, int64_t m, int64_t stride, double* into) {
    const double slope = 1 / (double(n) * double(n)) + 1 / (double(m) * double(m));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            const double r = double(i + 1) / double(n) - double(j + 1) / double(m), square = r * r;
            const double away = prior.spread * (square / slope) - prior.similarity / (square + 1);
            into[i * stride + j] = frames[i * stride + j] + (away + prior.weight * magnitude(r));
        }
}

double inner(const double* a, const double* b, int64_t n, int64_t m, int64_t stride) {
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t j = 0;
        Reg wide = {};
        for (; j + width <= m; j += width) wide = fused(load(a + i * stride + j), load(b + i * stride + j), wide);
        double row = sum(wide);
        for (; j < m; j++) row = fused(a[i * stride + j], b[i * stride + j], row);
        total += row;
    }
    return total;
}

class Solver {
  public:
    explicit Solver(const Transport& given)
        : q_(given), n_(given.n), m_(given.m), stride_(given.stride), a_(1 / double(given.n)), b_(1 / double(given.m)),
          g_(given.vectors), v_(g_ + stride_), c_(v_ + stride_), step_(c_ + stride_), inverse_(step_ + stride_),
          f_(inverse_ + stride_), u_(f_ + n_) {}

    double run() {
        const double range = settle_costs();
        // what is below 1e-13 of the range cannot be told from rounding
        const double goal = most(q_.epsilon, 1e-13 * range);
        double soft = goal;
        while (range > 50 * soft) soft *= 4;  // from a soft problem to the one asked: each starts where the last ended
        for (int64_t j = 0; j < stride_; j++) g_[j] = 0;
        int64_t left = q_.rounds;
        for (;; soft /= 4) {
            epsilon_ = most(soft, goal);
            rebuild();
            // on the way it is enough to be near; in the end, half the tolerance is for rounding
            left = converge(epsilon_ > goal ? 1e-4 : q_.tolerance / 2, left);
            if (*q_.stop) return 0;
            if (epsilon_ == goal) return finish();
            absorb();
            // potentials are in units of ε: the same prices, told in the next unit
            for (int64_t j = 0; j < m_; j++) g_[j] *= epsilon_ / most(soft / 4, goal);
        }
    }

    void project() {
        double *G = q_.costs, *plan = q_.plan;
        column_sums();
        for (int64_t k = 0; k < stride_; k += width) store(step_ + k, Reg{});
        for (int64_t i = 0; i < n_; i++) {
            u_[i] = 0;
            for (int64_t j = 0; j < m_; j++) u_[i] += plan[i * stride_ + j] * G[i * stride_ + j];
            for (int64_t j = 0; j < m_; j++) step_[j] += plan[i * stride_ + j] * (G[i * stride_ + j] - u_[i] / a_);
        }
        answer(plan, c_, q_.normal, inverse_, step_, n_, m_, stride_, q_.stop);
        if (*q_.stop) return;
        for (int64_t i = 0; i < n_; i++) {
            for (int64_t j = 0; j < m_; j++) u_[i] -= plan[i * stride_ + j] * step_[j];
            for (int64_t j = 0; j < m_; j++) G[i * stride_ + j] = plan[i * stride_ + j] * (G[i * stride_ + j] - u_[i] / a_ - step_[j]);
        }
    }

  private:
    // costs from 0, which loses nothing and keeps potentials small; padded columns are never chosen
    double settle_costs() {
        double low = infinity<double>, high = -infinity<double>;
        for (int64_t i = 0; i < n_; i++)
            for (int64_t j = 0; j < m_; j++) {
                low = least(low, q_.costs[i * stride_ + j]);
                high = most(high, q_.costs[i * stride_ + j]);
            }
        for (int64_t i = 0; i < n_; i++)
            for (int64_t j = 0; j < stride_; j++)
                q_.costs[i * stride_ + j] = j < m_ ? q_.costs[i * stride_ + j] - low : padding;
        return high - low;
    }

    // Rounds until the columns deviate by no more than `tolerance`; gives how many are left.
    int64_t converge(double tolerance, int64_t left) {
        for (; left > 0 && !*q_.stop; left--) {
            const double before = deviation();
            if (before <= tolerance) break;
            if (!scalings()) continue;
            const double after = deviation();
            if (after <= tolerance) break;
            // Newton's step costs about m/3 + 8 scalings, and three of them replace the rest
            const double remaining = double(sweeps) * __builtin_log(after / tolerance) / __builtin_log(before / after);
            if (!(after < before) || remaining > double(m_ + 24)) newton();
        }
        return left;
    }

    // The plan from g, its rows exact whatever the potentials: f_i = log 1/n − log Σ_j exp(g_j − C_ij/ε).
    void rebuild() {
        const Reg rate = all(-1 / epsilon_);
        for (int64_t k = 0; k < stride_; k += width) store(c_ + k, Reg{}), store(v_ + k, all(1));
        for (int64_t i = 0; i < n_ && !*q_.stop; i++) {
            const double* cost = q_.costs + i * stride_;
            double* row = q_.plan + i * stride_;
            Reg tops = all(-infinity<double>), total = {};
            for (int64_t k = 0; k < stride_; k += width) {
                const Reg z = fused(load(cost + k), rate, load(g_ + k));
                store(row + k, z);
                tops = most(tops, z);
            }
            const double top = -lowest_of(-tops);
            for (int64_t k = 0; k < stride_; k += width) {
                const Reg share = exponential(load(row + k) - all(top));
                store(row + k, share);
                total += share;
            }
            const double factor = a_ / sum(total);
            f_[i] = __builtin_log(factor) - top, u_[i] = 1;
            for (int64_t k = 0; k < stride_; k += width) {
                const Reg share = all(factor) * load(row + k);
                store(row + k, share);
                store(c_ + k, load(c_ + k) + share);
            }
        }
        drift_ = 0;
    }

    // of the columns; rows are exact. c holds column sums without v, so that the columns' own are v c
    double deviation() const {
        double total = 0;
        for (int64_t j = 0; j < m_; j++) total += magnitude(v_[j] * c_[j] - b_);
        return total;
    }

    // A round of scalings, columns then rows. Gives false where the plan had to be made again: a scaling went far, or a
    // column has underflowed and was set in the log domain.
    bool scalings() {
        for (int64_t s = 0; s < sweeps && !*q_.stop; s++) {
            for (int64_t j = m_; j < stride_; j++) c_[j] = b_;
            Reg lows = load(c_), highs = lows;
            for (int64_t k = width; k < stride_; k += width) lows = least(lows, load(c_ + k)), highs = most(highs, load(c_ + k));
            const double low = lowest_of(lows), high = -lowest_of(-highs);
            if (low < lost) {
                raise_lost_columns();
                return false;
            }
            for (int64_t k = 0; k < stride_; k += width) store(v_ + k, all(b_) / load(c_ + k));
            if (b_ / low > far || b_ / high < 1 / far) {
                absorb();
                rebuild();
                return false;
            }
            sweep();
        }
        return true;
    }

    void raise_lost_columns() {
        for (int64_t i = 0; i < n_; i++) f_[i] += __builtin_log(u_[i]);
        absorb();
        for (int64_t j = 0; j < m_; j++)
            if (c_[j] < lost && !*q_.stop) g_[j] = log_column(j);
        rebuild();
    }

    double log_column(int64_t j) const {
        double top = -infinity<double>, total = 0;
        for (int64_t i = 0; i < n_; i++) top = most(top, f_[i] - q_.costs[i * stride_ + j] / epsilon_);
        for (int64_t i = 0; i < n_; i++) total += __builtin_exp(f_[i] - q_.costs[i * stride_ + j] / epsilon_ - top);
        return __builtin_log(b_ / total) - top;
    }

    void absorb() {
        for (int64_t j = 0; j < m_; j++) g_[j] += __builtin_log(v_[j]);
    }

    // u from v, then c from u, in one pass over the plan
    void sweep() {
        for (int64_t k = 0; k < stride_; k += width) store(c_ + k, Reg{});
        int64_t i = 0;
        for (; i + 4 <= n_ && !*q_.stop; i += 4) sweep_rows<4>(i);
        for (; i < n_ && !*q_.stop; i++) sweep_rows<1>(i);
    }

    template <int R>
    void sweep_rows(int64_t i) {
        const double* row = q_.plan + i * stride_;
        Reg dots[R] = {}, scale[R];
        for (int64_t k = 0; k < stride_; k += width) {
            const Reg v = load(v_ + k);
            for (int r = 0; r < R; r++) dots[r] = fused(load(row + r * stride_ + k), v, dots[r]);
        }
        for (int r = 0; r < R; r++) u_[i + r] = a_ / sum(dots[r]), scale[r] = all(u_[i + r]);
        for (int64_t k = 0; k < stride_; k += width) {
            Reg c = load(c_ + k);
            for (int r = 0; r < R; r++) c = fused(load(row + r * stride_ + k), scale[r], c);
            store(c_ + k, c);
        }
    }

    // A step on the column potentials with the rows held exact. The objective is concave and its third derivative is
    // bounded by its second times the range of the step, so that log(1 + range)/range of a step never goes down
    // (Sun and Tran-Dinh, 2019) and a short step is a whole one.
    void newton() {
        multiply_in();
        column_sums();
        for (int64_t j = 0; j < m_; j++) step_[j] = b_ - c_[j];
        answer(q_.plan, c_, q_.normal, inverse_, step_, n_, m_, stride_, q_.stop);
        if (*q_.stop) return;
        double low = step_[0], high = step_[0];
        for (int64_t j = 1; j < m_; j++) low = least(low, step_[j]), high = most(high, step_[j]);
        const double range = high - low, part = range > 0 ? __builtin_log1p(range) / range : 1;
        drift_ += part * range;
        for (int64_t j = 0; j < m_; j++) v_[j] = __builtin_exp(part * (step_[j] - low));
        if (part * range > 1 || drift_ > 100) {
            absorb();
            rebuild();
        } else sweep();
    }

    // u and v into the plan, so that later scalings are relative to it and keep all their digits
    void multiply_in() {
        double high = 1, low = 1;
        for (int64_t j = 0; j < m_; j++) low = least(low, v_[j]), high = most(high, v_[j]);
        drift_ += __builtin_log(high / low);
        absorb();
        for (int64_t i = 0; i < n_; i++) {
            double* row = q_.plan + i * stride_;
            for (int64_t k = 0; k < stride_; k += width) store(row + k, all(u_[i]) * load(row + k) * load(v_ + k));
            f_[i] += __builtin_log(u_[i]), u_[i] = 1;
        }
        for (int64_t k = 0; k < stride_; k += width) store(v_ + k, all(1));
    }

    void column_sums() {
        for (int64_t k = 0; k < stride_; k += width) store(c_ + k, Reg{});
        for (int64_t i = 0; i < n_; i++) add_row(1, q_.plan + i * stride_, c_, 0, stride_);
    }

    double finish() {
        multiply_in();
        column_sums();
        double total = deviation();
        for (int64_t i = 0; i < n_; i++) {
            Reg row = {};
            for (int64_t k = 0; k < stride_; k += width) row += load(q_.plan + i * stride_ + k);
            total += magnitude(sum(row) - a_);
        }
        return total;
    }

    const Transport& q_;
    const int64_t n_, m_, stride_;
    const double a_, b_;
    double *g_, *v_, *c_, *step_, *inverse_, *f_, *u_;
    double epsilon_ = 0, drift_ = 0;  // how far the plan has been scaled since it was made
};

double scale(const Transport& given) { return Solver(given).run(); }
void project(const Transport& given) { Solver(given).project(); }

}  // namespace

extern const TransportTable transport_table;
const TransportTable transport_table = {&frames, &ground, &scale, &project, &inner};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
