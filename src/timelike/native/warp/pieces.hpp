// The signal's part of the objective at one knot: a function of φ made of quadratic pieces. They meet at y's times, and
// for penalties with corners also where a difference changes its sign or Huber's penalty turns straight.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "warp/table.hpp"

namespace timelike {

constexpr double touching = 1e-12;  // warp values this near are one place

// slope·(φ − origin) + ½ curvature·(φ − origin)² between low and high
struct Piece {
    double low, high, origin, slope, curvature;
    int32_t segment;
    double slope_at(double place) const { return slope + curvature * (place - origin); }
};

class Signal {
  public:
    explicit Signal(const WarpProblem& problem) : p_(problem), weights_(size_t(problem.m), 1.0) {
        if (p_.m == 1) return;  // a single knot has no interval to be weighed by
        std::fill(weights_.begin(), weights_.end(), 0.0);
        for (int64_t i = 0; i + 1 < p_.m; i++) {
            const double half = (p_.t[i + 1] - p_.t[i]) / 2;
            weights_[size_t(i)] += half, weights_[size_t(i + 1)] += half;
        }
    }

    double weight(int64_t i) const { return weights_[size_t(i)]; }

    // the segment of y that begins at or before `place`
    int64_t segment(double place) const {
        const int64_t after = std::upper_bound(p_.tau, p_.tau + p_.n, place) - p_.tau;
        return std::min(std::max<int64_t>(after - 1, 0), p_.n - 2);
    }

    double value(int64_t i, double place) const {
        const int64_t k = segment(place);
        const double share = (place - p_.tau[k]) / (p_.tau[k + 1] - p_.tau[k]);
        double sum = 0;
        for (int64_t c = 0; c < p_.channels; c++) sum += penalty(difference(i, k, share, c));
        return weight(i) * sum;
    }

    // the piece on the right (side 1) or on the left (side -1) of `place`
    Piece piece(int64_t i, double place, int side) const {
        const double inside = place + side * touching;
        const int64_t k = segment(inside);
        Piece found{p_.tau[k], p_.tau[k + 1], place, 0, 0, int32_t(k)};
        if (p_.penalty != Penalty::squared) narrow(i, k, inside, found);
        const double span = p_.tau[k + 1] - p_.tau[k];
        const double middle = ((found.low + found.high) / 2 - p_.tau[k]) / span, share = (place - p_.tau[k]) / span;
        for (int64_t c = 0; c < p_.channels; c++) {
            const double rate = (y(k + 1, c) - y(k, c)) / span, here = difference(i, k, share, c);
            const double typical = difference(i, k, middle, c);
            if (squares(typical)) {
                found.slope -= 2 * here * rate;
                found.curvature += 2 * rate * rate;
            } else
                found.slope -= straight() * (typical > 0 ? rate : typical < 0 ? -rate : 0);
        }
        found.slope *= weight(i), found.curvature *= weight(i);
        return found;
    }

    // The channel whose difference vanishes at `place`, for the absolute penalty: of several the one in which y moves most,
    // −1 for none. At a time of y it must go straight on there, or the place would move otherwise up than down.
    int32_t crossing(int64_t i, double place) const {
        const int64_t k = segment(place - touching), after = segment(place + touching);
        const double share = (place - p_.tau[k]) / (p_.tau[k + 1] - p_.tau[k]);
        int32_t best = -1;
        double most = 0;
        for (int64_t c = 0; c < p_.channels; c++) {
            const double size = std::abs(rate(k, c)), here = std::abs(difference(i, k, share, c));
            const bool straight = std::abs(rate(k, c) - rate(after, c)) <= 1e-9 * size;
            if (straight && size > most && here <= 1e-9 * size) best = int32_t(c), most = size;
        }
        return best;
    }

    double difference(int64_t i, int64_t k, double share, int64_t c) const {
        // not x − ((1 − s)·y_k + s·y_{k+1}), which loses digits where all have a large offset in common
        return (p_.x[i * p_.channels + c] - y(k, c)) - share * (y(k + 1, c) - y(k, c));
    }
    bool squares(double d) const {
        return p_.penalty == Penalty::squared || (p_.penalty == Penalty::huber && std::abs(d) <= p_.delta);
    }
    double straight() const { return p_.penalty == Penalty::huber ? 2 * p_.delta : 1.0; }
    double penalty(double d) const {
        if (squares(d)) return d * d;
        return p_.penalty == Penalty::huber ? p_.delta * (2 * std::abs(d) - p_.delta) : std::abs(d);
    }
    double rate(int64_t k, int64_t c) const { return (y(k + 1, c) - y(k, c)) / (p_.tau[k + 1] - p_.tau[k]); }
    double y(int64_t k, int64_t c) const { return p_.y[k * p_.channels + c]; }
    const WarpProblem& problem() const { return p_; }

  private:
    void narrow(int64_t i, int64_t k, double inside, Piece& piece) const {
        const double span = p_.tau[k + 1] - p_.tau[k];
        for (int64_t c = 0; c < p_.channels; c++) {
            const double rate = (y(k + 1, c) - y(k, c)) / span, zero = p_.x[i * p_.channels + c] - y(k, c);
            if (rate == 0) continue;
            for (double turn : {-p_.delta, p_.delta}) {
                const double place = p_.tau[k] + (p_.penalty == Penalty::huber ? zero + turn : zero) / rate;
                if (place > piece.low && place <= inside) piece.low = place;
                else if (place < piece.high && place > inside) piece.high = place;
            }
        }
    }

    const WarpProblem& p_;
    std::vector<double> weights_;
};

}  // namespace timelike
