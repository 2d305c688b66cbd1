// The global search: a dynamic program over grids of warp values, first between the bounds and then ever closer around
// the best warp so far.
#pragma once
#include "machine/memory.hpp"
#include "warp/polish.hpp"

namespace timelike {

// Where no warp fits: the knot, and whether a bound from below (or from above) is out of reach.
struct Conflict {
    int64_t knot = -1;
    bool from_below = false;
};

// The least and the greatest warp between the bounds that keep the slopes; both are warps themselves, and so is every
// mixture of them, so a grid between them always holds a feasible path.
inline Conflict tighten(const Chain& chain, Bounds& b) {
    const size_t count = b.low.size();
    auto check = [&](size_t i, bool below) {
        if (b.low[i] > b.high[i] + 1e-9) return Conflict{int64_t(i), below};
        if (b.low[i] > b.high[i]) b.low[i] = b.high[i] = (b.low[i] + b.high[i]) / 2;
        return Conflict{};
    };
    for (size_t i = 0; i < count; i++) {
        if (i) {
            const double reached = b.low[i - 1] + chain.least[i - 1], limit = b.high[i - 1] + chain.most[i - 1];
            const bool below = b.low[i] > limit;
            b.low[i] = std::max(b.low[i], reached), b.high[i] = std::min(b.high[i], limit);
            if (const Conflict found = check(i, below); found.knot >= 0) return found;
        } else if (const Conflict found = check(i, true); found.knot >= 0)
            return found;
    }
    for (size_t i = count - 1; i-- > 0;) {
        b.low[i] = std::max(b.low[i], b.low[i + 1] - chain.most[i]);
        b.high[i] = std::min(b.high[i], b.high[i + 1] - chain.least[i]);
        if (const Conflict found = check(i, true); found.knot >= 0) return found;
    }
    return {};
}

class GridSearch {
  public:
    GridSearch(const Signal& signal, const Chain& chain, int64_t count, const WarpTable& kernels)
        : signal_(signal), chain_(chain), p_(signal.problem()), count_(count), kernels_(kernels),
          from_(buffer<uint16_t>(p_.m * count + 1)), before_(buffer<double>(count + 64)), after_(buffer<double>(count + 64)),
          squares_(buffer<double>(p_.n)), by_channel_(buffer<double>(p_.n * p_.channels)),
          inverse_(buffer<double>(count)), stack_(buffer<double>(3 * count)), bends_(size_t(p_.n), 0.0) {
        for (int64_t d = 1; d < count; d++) inverse_[d] = 1.0 / double(d);
        for (int64_t k = 0; k < p_.n; k++)
            for (int64_t c = 0; c < p_.channels; c++) by_channel_[c * p_.n + k] = p_.y[k * p_.channels + c];
        for (int64_t k = 0; k + 1 < p_.n; k++)
            for (int64_t c = 0; c < p_.channels; c++) {
                const double rise = signal.y(k + 1, c) - signal.y(k, c);
                bends_[size_t(k)] += rise * rise;
            }
    }

    // the best warp on a grid of `count` values between `bounds`, which are tight; false if stopped
    bool run(const Bounds& bounds, int64_t count, double* phi, const volatile bool* stop) {
        count_ = count;
        const double parts = double(count_ - 1);
        Grid earlier{};
        for (int64_t i = 0; i < p_.m && !*stop; i++) {
            const double low = bounds.low[size_t(i)];
            const Grid here{low, (bounds.high[size_t(i)] - low) / parts};
            if (i == 0) std::fill(after_.get(), after_.get() + count_, 0.0);
            else {
                std::swap(before_, after_);
                const size_t gap = size_t(i - 1);
                const Move move{chain_.stiffness[gap] / 2, chain_.span[gap], chain_.least[gap], chain_.most[gap]};
                kernels_.advance(before_.get(), earlier, here, move, count_, inverse_.get(), stack_.get(), after_.get(),
                                 from_.get() + i * count_);
            }
            add_costs(i, here);
            earlier = here;
        }
        if (*stop) return false;
        int64_t j = std::min_element(after_.get(), after_.get() + count_) - after_.get();
        for (int64_t i = p_.m; i-- > 0;) {
            const double low = bounds.low[size_t(i)];
            phi[i] = low + double(j) * ((bounds.high[size_t(i)] - low) / parts);
            if (i) j = from_[i * count_ + j];
        }
        return true;
    }

  private:
    void add_costs(int64_t i, Grid grid) {
        const double end = grid.low + grid.step * double(count_ - 1);
        const int64_t first = signal_.segment(grid.low), last = signal_.segment(end);
        double* into = after_.get();
        if (p_.penalty != Penalty::squared) {
            for (int64_t j = 0; j < count_; j++) into[j] += signal_.value(i, grid.low + grid.step * double(j));
            return;
        }
        // on a segment the square is (1 − a)·A + a·B − a(1 − a)·C, A and B at its ends, C the square of y's rise
        kernels_.squares(p_.x + i * p_.channels, by_channel_.get(), p_.n, p_.channels, first, last + 1, squares_.get());
        const double weight = signal_.weight(i);
        int64_t j = 0;
        for (int64_t k = first; k <= last && j < count_; k++) {
            const double begin = p_.tau[k], scale = 1 / (p_.tau[k + 1] - begin);
            const double until = k == last ? double(count_) : (p_.tau[k + 1] - grid.low) / grid.step;
            const int64_t stop = until >= double(count_) ? count_ : std::max(j, int64_t(std::ceil(until)));
            const double a = weight * squares_[k], b = weight * squares_[k + 1], c = weight * bends_[size_t(k)];
            kernels_.add_segment(grid, j, stop, begin, scale, a, b, c, into);
            j = stop;
        }
    }

    const Signal& signal_;
    const Chain& chain_;
    const WarpProblem& p_;
    int64_t count_;
    const WarpTable& kernels_;
    Buffer<uint16_t> from_;
    Buffer<double> before_, after_, squares_, by_channel_, inverse_, stack_;
    Numbers bends_;
};

}  // namespace timelike
