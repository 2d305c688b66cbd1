// A convex quadratic over a chain with boxes and bounded differences, by a primal-dual interior point method (Mehrotra's
// predictor and corrector). Every step is one tridiagonal system, so an iteration costs as much as reading the data.
#pragma once
#include "warp/chain.hpp"

namespace timelike {

// One side of a constraint: clearance ≥ 0, force ≥ 0, and their product goes to zero.
struct Side {
    double clearance = 1, force = 0, miss = 0, d_clearance = 0, d_force = 0;
    bool present = false;

    void start(double have, double least, double push) {
        present = true;
        clearance = have > least ? have : least;
        force = push / clearance;
    }
    double weight() const { return present ? force / clearance : 0.0; }
    // the force after the step is pull() + weight()·(how far the constraint opens), negated
    double pull(double aim) const { return present ? (aim - force * miss) / clearance : 0.0; }
    double aim(double target, bool corrected) const {
        return target - clearance * force - (corrected ? d_clearance * d_force : 0.0);
    }
    void move(double opens, double aim) {
        if (!present) return;
        d_clearance = opens + miss;
        d_force = (aim - force * d_clearance) / clearance;
    }
};

class Interior {
  public:
    Interior(const Chain& chain, size_t count)
        : chain_(chain), count_(count), low_(count), high_(count), slow_(count), fast_(count), diagonal_(count),
          link_(count), step_(count), gradient_(count) {}

    // minimise from `phi`, which need not be feasible; forces of the boxes are left in low() and high()
    void solve(const std::vector<Piece>& pieces, const Numbers& lower, const Numbers& upper, double* phi) {
        pieces_ = &pieces, lower_ = &lower, upper_ = &upper, phi_ = phi;
        begin();
        // it ends when it is done or when rounding stops it; 80 bounds the time, and the residual tells how near it came
        for (int round = 0; round < 80; round++) {
            measure();
            const double center = n_sides_ ? gap_ / double(n_sides_) : 0.0;
            if (done() || (n_sides_ && center < 1e-20 * scale_)) break;
            double aim = 0;
            if (n_sides_) {
                direction(0.0, false);
                const double reached = shortened_gap() / double(n_sides_), ratio = reached / center;
                aim = ratio * ratio * ratio * center;  // Mehrotra's rule: the further a plain step gets, the less is aimed at
            }
            direction(aim, n_sides_ > 0);
            if (!advance()) break;
        }
    }

    const std::vector<Side>& low() const { return low_; }
    const std::vector<Side>& high() const { return high_; }
    const std::vector<Side>& slow() const { return slow_; }
    const std::vector<Side>& fast() const { return fast_; }
    double scale() const { return scale_; }

  private:
    bool fixed(size_t i) const { return (*upper_)[i] - (*lower_)[i] <= touching; }
    double difference(size_t i) const { return phi_[i + 1] - phi_[i]; }

    template <class F> void each(F&& f) {
        for (size_t i = 0; i < count_; i++) {
            if (low_[i].present) f(low_[i]), f(high_[i]);
            if (slow_[i].present) f(slow_[i]);
            if (fast_[i].present) f(fast_[i]);
        }
    }

    void begin() {
        for (size_t i = 0; i < count_; i++) {
            const double l = (*lower_)[i], u = (*upper_)[i], inset = 0.1 * (u - l);
            low_[i] = high_[i] = slow_[i] = fast_[i] = Side();
            if (fixed(i)) phi_[i] = (l + u) / 2;
            else phi_[i] = std::min(std::max(phi_[i], l + inset), u - inset);
        }
        gradient();
        scale_ = 0;
        for (size_t i = 0; i < count_; i++) scale_ = std::max(scale_, std::abs(gradient_[i]));
        for (size_t i = 0; i + 1 < count_; i++) scale_ = std::max(scale_, chain_.stiffness[i] * chain_.span[i]);
        if (scale_ == 0) scale_ = 1;
        n_sides_ = 0;
        for (size_t i = 0; i < count_; i++) {
            if (fixed(i)) continue;
            const double l = (*lower_)[i], u = (*upper_)[i], push = 0.1 * scale_ * (u - l);
            low_[i].start(phi_[i] - l, 0, push), high_[i].start(u - phi_[i], 0, push);
            n_sides_ += 2;
        }
        for (size_t i = 0; i + 1 < count_; i++) {
            if (fixed(i) && fixed(i + 1)) continue;
            const double c = chain_.least[i], e = chain_.most[i];
            const double wide = std::min(chain_.span[i], e - c), least = std::max(0.1 * wide, 1e-11);
            const double push = 0.1 * scale_ * least;
            slow_[i].start(difference(i) - c, least, push);
            n_sides_++;
            if (std::isinf(e)) continue;
            fast_[i].start(e - difference(i), least, push);
            n_sides_++;
        }
    }

    void gradient() {
        for (size_t i = 0; i < count_; i++) gradient_[i] = (*pieces_)[i].slope_at(phi_[i]);
        chain_.add_gradient(phi_, gradient_);
    }

    // gradient of the Lagrangian, misses, gap
    void measure() {
        gradient();
        gap_ = miss_ = force_ = 0;
        for (size_t i = 0; i < count_; i++) {
            if (low_[i].present) {
                low_[i].miss = phi_[i] - (*lower_)[i] - low_[i].clearance;
                high_[i].miss = (*upper_)[i] - phi_[i] - high_[i].clearance;
                gradient_[i] += high_[i].force - low_[i].force;
            }
            if (slow_[i].present) slow_[i].miss = difference(i) - chain_.least[i] - slow_[i].clearance;
            if (fast_[i].present) fast_[i].miss = chain_.most[i] - difference(i) - fast_[i].clearance;
            if (i + 1 < count_) {
                const double force = fast_[i].force - slow_[i].force;
                gradient_[i + 1] += force, gradient_[i] -= force;
            }
        }
        each([&](Side& side) {
            gap_ += side.clearance * side.force;
            miss_ = std::max(miss_, std::abs(side.miss));
        });
        for (size_t i = 0; i < count_; i++)
            if (!fixed(i)) force_ = std::max(force_, std::abs(gradient_[i]));
    }

    bool done() const {
        const double mean = n_sides_ ? gap_ / double(n_sides_) : 0.0;
        return mean <= 1e-15 * scale_ && force_ <= 1e-9 * scale_ && miss_ <= 1e-12;  // further on, rounding gains
    }

    void direction(double target, bool corrected) {
        Numbers pulls(count_, 0.0);
        for (size_t i = 0; i < count_; i++) {
            diagonal_[i] = (*pieces_)[i].curvature + low_[i].weight() + high_[i].weight();
            step_[i] = -gradient_[i] + low_[i].pull(low_[i].aim(target, corrected)) -
                       high_[i].pull(high_[i].aim(target, corrected));
            link_[i] = 0;
        }
        for (size_t i = 0; i + 1 < count_; i++) {
            const double stiff = chain_.stiffness[i] + slow_[i].weight() + fast_[i].weight();
            const double pull = fast_[i].pull(fast_[i].aim(target, corrected)) -
                                slow_[i].pull(slow_[i].aim(target, corrected));
            diagonal_[i] += stiff, diagonal_[i + 1] += stiff, link_[i] = -stiff;
            step_[i + 1] -= pull, step_[i] += pull;
        }
        for (size_t i = 0; i < count_; i++)
            if (fixed(i)) {
                diagonal_[i] = 1, step_[i] = 0, link_[i] = 0;
                if (i) link_[i - 1] = 0;
            } else if (diagonal_[i] == 0)
                diagonal_[i] = 1;
        solve_tridiagonal(diagonal_, link_, step_);
        for (size_t i = 0; i < count_; i++) {
            low_[i].move(step_[i], low_[i].aim(target, corrected));
            high_[i].move(-step_[i], high_[i].aim(target, corrected));
            if (i + 1 == count_) break;
            const double opens = step_[i + 1] - step_[i];
            slow_[i].move(opens, slow_[i].aim(target, corrected));
            fast_[i].move(-opens, fast_[i].aim(target, corrected));
        }
    }

    void lengths(double& primal, double& dual) {
        // 0.995 of the way to the nearest wall: on it a clearance would be zero, and it is divided by
        primal = dual = 1 / 0.995;
        each([&](Side& s) {
            if (s.d_clearance < 0) primal = std::min(primal, -s.clearance / s.d_clearance);
            if (s.d_force < 0) dual = std::min(dual, -s.force / s.d_force);
        });
        primal *= 0.995, dual *= 0.995;
    }

    double shortened_gap() {
        double primal, dual, sum = 0;
        lengths(primal, dual);
        each([&](Side& s) { sum += (s.clearance + primal * s.d_clearance) * (s.force + dual * s.d_force); });
        return sum;
    }

    bool advance() {
        double primal, dual, sum = 0;
        lengths(primal, dual);
        for (size_t i = 0; i < count_; i++) sum += step_[i];
        if (!std::isfinite(sum) || !(primal > 0) || !(dual > 0)) return false;  // as near as rounding lets it come
        // forces enter the gradient linearly but with the data's curvature moved by the primal step: one length for both
        // keeps what has been balanced in balance
        const double length = std::min(primal, dual);
        for (size_t i = 0; i < count_; i++) phi_[i] += length * step_[i];
        each([&](Side& s) { s.clearance += length * s.d_clearance, s.force += length * s.d_force; });
        return true;
    }

    const Chain& chain_;
    size_t count_;
    std::vector<Side> low_, high_, slow_, fast_;
    Numbers diagonal_, link_, step_, gradient_;
    const std::vector<Piece>* pieces_ = nullptr;
    const Numbers *lower_ = nullptr, *upper_ = nullptr;
    double* phi_ = nullptr;
    double scale_ = 1, gap_ = 0, miss_ = 0, force_ = 0;
    int64_t n_sides_ = 0;
};

}  // namespace timelike
