// From a warp on a grid to a local optimum: quadratic programs over the pieces the warp lies on, moving to neighbouring
// pieces while that lowers the objective, and at the end the active constraints solved for exactly.
#pragma once
#include "warp/interior.hpp"

namespace timelike {

struct Bounds {
    Numbers low, high;
};

class Polish {
  public:
    Polish(const Signal& signal, const Chain& chain, const Bounds& bounds)
        : signal_(signal), chain_(chain), bounds_(bounds), count_(bounds.low.size()), runs_(chain, count_),
          interior_(runs_.chain, runs_.count), lower_(count_), upper_(count_), holds_low_(runs_.count),
          holds_high_(runs_.count) {}

    double objective(const double* phi) const { return objective(phi, chain_); }
    double objective(const double* phi, const Chain& chain) const {
        double sum = chain.cost(phi);
        for (size_t i = 0; i < count_; i++) sum += signal_.value(int64_t(i), phi[i]);
        return sum;
    }

    // `phi` is improved in place; gives the Karush-Kuhn-Tucker residual, in units of the largest force if that is > 1
    double run(double* phi, WarpState state) {
        for (size_t i = 0; i < count_; i++) phi[i] = std::min(std::max(phi[i], bounds_.low[i]), bounds_.high[i]);
        approach(phi);
        take_pieces(phi);
        double last = 0, unmet = 0;
        int stalls = 0;
        for (int round = 0; round < 1000; round++) {
            for (size_t i = 0; i < count_; i++) {
                lower_[i] = std::max(pieces_[i].low, bounds_.low[i]);
                upper_[i] = std::max(lower_[i], std::min(pieces_[i].high, bounds_.high[i]));
            }
            minimise(lower_, upper_, phi);
            const double value = objective(phi);
            // at a kink where both slopes vanish a value may be sent to and fro for nothing; once or twice it may be for
            // less than the objective's rounding shows
            stalls = round > 0 && last - value <= 1e-13 * value ? stalls + 1 : 0;
            last = value;
            unmet = stalls > 2 ? 0 : cross(phi);
            if (unmet == 0) break;
        }
        return std::max(settle(phi, state), unmet) / std::max(1.0, interior_.scale());
    }

  private:
    bool fixed(size_t i) const { return bounds_.high[i] - bounds_.low[i] <= touching; }

    void take_pieces(const double* phi) {
        pieces_.clear();
        for (size_t i = 0; i < count_; i++)
            pieces_.push_back(signal_.piece(int64_t(i), phi[i], phi[i] >= bounds_.high[i] - touching ? -1 : 1));
    }

    // The quadratic program over the pieces, with one unknown per run; the tightest of its members' boxes is the run's.
    void minimise(const Numbers& lower, const Numbers& upper, double* phi) {
        std::vector<Piece> pieces(runs_.count, Piece{0, 0, 0, 0, 0, 0});
        Numbers low(runs_.count), high(runs_.count), start(runs_.count);
        for (size_t i = 0; i < count_; i++) {
            const size_t r = runs_.run[i];
            const bool first = i == 0 || runs_.run[i - 1] != r;
            const double off = runs_.offset[i];
            if (first) start[r] = pieces[r].origin = phi[i];
            if (first || lower[i] - off > low[r]) low[r] = lower[i] - off, holds_low_[r] = i;
            if (first || upper[i] - off < high[r]) high[r] = upper[i] - off, holds_high_[r] = i;
            pieces[r].slope += pieces_[i].slope_at(pieces[r].origin + off);
            pieces[r].curvature += pieces_[i].curvature;
        }
        for (size_t r = 0; r < runs_.count; r++) high[r] = std::max(low[r], high[r]);
        interior_.solve(pieces, low, high, start.data());
        for (size_t i = 0; i < count_; i++) phi[i] = start[runs_.run[i]] + runs_.offset[i];
    }

    // what holds value i from below and from above, and the differences behind it
    Side low(size_t i) const { return holds_low_[runs_.run[i]] == i ? interior_.low()[runs_.run[i]] : Side(); }
    Side high(size_t i) const { return holds_high_[runs_.run[i]] == i ? interior_.high()[runs_.run[i]] : Side(); }
    Side slow(size_t i) const { return chain_.rigid(i) ? Side() : interior_.slow()[runs_.run[i]]; }
    Side fast(size_t i) const { return chain_.rigid(i) ? Side() : interior_.fast()[runs_.run[i]]; }

    // Far from an optimum values cross many pieces: steps of Newton's method as if each piece went on, halved until the
    // objective falls, while that pays.
    void approach(double* phi) {
        double value = objective(phi);
        Numbers aim(count_), trial(count_);
        for (int round = 0; round < 20; round++) {
            take_pieces(phi);
            std::copy(phi, phi + count_, aim.begin());
            minimise(bounds_.low, bounds_.high, aim.data());
            double length = 1, reached = value;
            for (; length > 0.1; length /= 2) {
                for (size_t i = 0; i < count_; i++) trial[i] = phi[i] + length * (aim[i] - phi[i]);
                if ((reached = objective(trial.data())) < value) break;
            }
            if (!(reached < (1 - 1e-5) * value)) return;
            std::copy(trial.begin(), trial.end(), phi);
            value = reached;
        }
    }

    double bend(size_t i) const {
        return pieces_[i].curvature + (i > 0 ? chain_.stiffness[i - 1] : 0.0) + (i + 1 < count_ ? chain_.stiffness[i] : 0.0);
    }

    // Whether slopes let value i be there. Within the programs' own accuracy they do.
    bool fits(size_t i, double place, const double* phi) const {
        if (std::abs(place - phi[i]) < 1e-7 * (pieces_[i].high - pieces_[i].low) + 10 * touching) return true;
        const bool before = i == 0 || (place - phi[i - 1] >= chain_.least[i - 1] && place - phi[i - 1] <= chain_.most[i - 1]);
        return before && (i + 1 == count_ || (phi[i + 1] - place >= chain_.least[i] && phi[i + 1] - place <= chain_.most[i]));
    }

    // A value held at the end of its piece goes on where the next piece falls in that direction; gives the steepest fall.
    // What it is held with is known a little before the end: on the way there it still loses what the objective bends.
    double cross(double* phi) {
        double steepest = 0;
        const double tolerance = 1e-11 * interior_.scale();
        for (size_t i = 0; i < count_; i++) {
            if (fixed(i)) continue;
            const Piece& piece = pieces_[i];
            const double reach = 1e-5 * (piece.high - piece.low) + 10 * touching;
            if (phi[i] >= upper_[i] - reach && piece.high < bounds_.high[i] - touching) {
                const Piece next = signal_.piece(int64_t(i), piece.high, 1);
                const double jump = next.slope - piece.slope_at(piece.high);
                const double fall = high(i).force - bend(i) * (upper_[i] - phi[i]) - jump;
                if (fall > tolerance && fits(i, piece.high, phi))
                    phi[i] = piece.high, pieces_[i] = next, steepest = std::max(steepest, fall);
            } else if (phi[i] <= lower_[i] + reach && piece.low > bounds_.low[i] + touching) {
                const Piece next = signal_.piece(int64_t(i), piece.low, -1);
                const double jump = piece.slope_at(piece.low) - next.slope;
                const double fall = low(i).force - bend(i) * (phi[i] - lower_[i]) - jump;
                if (fall > tolerance && fits(i, piece.low, phi))
                    phi[i] = piece.low, pieces_[i] = next, steepest = std::max(steepest, fall);
            }
        }
        return steepest;
    }

    void name_active(WarpState s) const {
        double stiffness = 0;
        for (size_t i = 0; i < count_; i++) stiffness = std::max(stiffness, pieces_[i].curvature);
        for (size_t i = 0; i + 1 < count_; i++) stiffness = std::max(stiffness, chain_.stiffness[i]);
        // force and clearance have different units: a constraint is active if its force outweighs what its clearance could bend
        auto active = [&](const Side& side) { return side.present && side.force > 1e-3 * stiffness * side.clearance; };
        for (size_t i = 0; i < count_; i++) {
            s.segments[i] = pieces_[i].segment, s.crossing[i] = 0, s.pins[i] = moves;
            if (fixed(i)) s.pins[i] = int8_t(end_or_bound(i));
            else if (active(low(i))) s.pins[i] = int8_t(pieces_[i].low > bounds_.low[i] + touching ? on_kink : at_least);
            else if (active(high(i))) s.pins[i] = int8_t(pieces_[i].high < bounds_.high[i] - touching ? on_kink : at_most);
            if (i + 1 == count_) break;
            const bool held = chain_.rigid(i) || active(slow(i));
            s.glues[i] = int8_t(held ? slowest : active(fast(i)) ? fastest : loose);
        }
    }

    Pin end_or_bound(size_t i) const {
        const bool end = !signal_.problem().free_ends && count_ > 1 && (i == 0 || i + 1 == count_);
        return end ? at_end : at_least;
    }

    // the active constraints hold exactly and what is free solves its equations exactly
    double settle(double* phi, WarpState s) const {
        name_active(s);
        Numbers exact = solved_exactly(phi, s);
        // the guess of what is active is made from small numbers: what would have to pull is let go
        for (int round = 0; round < 8 && release(exact, s); round++) exact = solved_exactly(phi, s);
        // where the guess was wrong the equations lead elsewhere: then what the programs found stays
        if (feasible(exact.data()) && moved(exact, phi) < 1e-5) std::copy(exact.begin(), exact.end(), phi);
        if (signal_.problem().penalty == Penalty::absolute)
            for (size_t i = 0; i < count_; i++)
                if (const int32_t channel = signal_.crossing(int64_t(i), phi[i]); s.pins[i] == on_kink && channel >= 0)
                    s.pins[i] = on_crossing, s.crossing[i] = channel;
        return Blocks(s.pins, s.glues, count_).residual(slopes(phi));
    }

    bool from_below(size_t i) const { return fixed(i) || low(i).force > high(i).force; }

    Numbers solved_exactly(const double* phi, WarpState s) const {
        Numbers exact(phi, phi + count_);
        for (size_t i = 0; i < count_; i++)
            if (s.pins[i] != moves) exact[i] = from_below(i) ? lower_[i] : upper_[i];
        const Blocks blocks(s.pins, s.glues, count_);
        blocks.place_members(chain_, exact.data());
        Numbers curvature(count_);
        for (size_t i = 0; i < count_; i++) curvature[i] = pieces_[i].curvature;
        const Numbers step = blocks.solve(chain_, curvature, slopes(exact.data()));
        for (size_t i = 0; i < count_; i++) exact[i] -= step[i];
        return exact;
    }

    // Pins of a block that could only hold it by pulling move again; gives whether there were any.
    bool release(const Numbers& phi, WarpState s) const {
        const Numbers gradient = slopes(phi.data());
        const double tolerance = 1e-11 * interior_.scale();
        bool any = false;
        for (size_t begin = 0, end; begin < count_; begin = end) {
            double push = 0;
            bool below = false, above = false;
            for (end = begin; end == begin || (end < count_ && s.glues[end - 1] != loose); end++) {
                push += gradient[end];
                below |= s.pins[end] != moves && (fixed(end) || from_below(end));
                above |= s.pins[end] != moves && (fixed(end) || !from_below(end));
            }
            if (below == above || (below ? push >= -tolerance : push <= tolerance)) continue;
            std::fill(s.pins + begin, s.pins + end, int8_t(moves));
            any = true;
        }
        return any;
    }

    Numbers slopes(const double* phi) const {
        Numbers gradient(count_);
        for (size_t i = 0; i < count_; i++) gradient[i] = pieces_[i].slope_at(phi[i]);
        chain_.add_gradient(phi, gradient);
        return gradient;
    }

    bool feasible(const double* phi) const {
        for (size_t i = 0; i < count_; i++)
            if (!(phi[i] >= lower_[i] - 1e-11 && phi[i] <= upper_[i] + 1e-11)) return false;
        for (size_t i = 0; i + 1 < count_; i++) {
            const double difference = phi[i + 1] - phi[i];
            if (!(difference >= chain_.least[i] - 1e-11 && difference <= chain_.most[i] + 1e-11)) return false;
        }
        return true;
    }

    double moved(const Numbers& a, const double* b) const {
        double most = 0;
        for (size_t i = 0; i < count_; i++) most = std::max(most, std::abs(a[i] - b[i]));
        return most;
    }

    const Signal& signal_;
    const Chain& chain_;
    const Bounds& bounds_;
    size_t count_;
    Runs runs_;
    Interior interior_;
    std::vector<Piece> pieces_;
    Numbers lower_, upper_;
    std::vector<size_t> holds_low_, holds_high_;  // the member of each run whose box is tightest
};

}  // namespace timelike
