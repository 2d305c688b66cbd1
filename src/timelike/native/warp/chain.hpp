// Neighbouring warp values: the regularisation that ties them, the constraints that hold some of them, and linear systems
// over what is left free. Values joined by active slope constraints move as one block, and a block that is pinned does
// not move at all, so every system stays tridiagonal.
#pragma once
#include <numeric>

#include "warp/pieces.hpp"

namespace timelike {

using Numbers = std::vector<double>;

// stiffness·½(φ_{i+1} − φ_i − span)², between least and most
struct Chain {
    Numbers stiffness, span, least, most;

    Chain() = default;
    // where λ is 0, `instead` takes its place
    explicit Chain(const WarpProblem& p, double instead = 0) {
        for (int64_t i = 0; i + 1 < p.m; i++) {
            const double width = p.t[i + 1] - p.t[i];
            span.push_back(width);
            stiffness.push_back(2 * (p.lambda[i] > 0 ? p.lambda[i] : instead) / width);
            least.push_back(p.s_min[i] * width);
            most.push_back(p.s_max[i] * width);
        }
    }
    size_t size() const { return span.size(); }
    bool rigid(size_t i) const { return most[i] - least[i] <= 1e-10; }
    double cost(const double* phi) const {
        double sum = 0;
        for (size_t i = 0; i < size(); i++) {
            const double off = phi[i + 1] - phi[i] - span[i];
            sum += stiffness[i] * off * off / 2;
        }
        return sum;
    }
    void add_gradient(const double* phi, Numbers& gradient) const {
        for (size_t i = 0; i < size(); i++) {
            const double force = stiffness[i] * (phi[i + 1] - phi[i] - span[i]);
            gradient[i] -= force, gradient[i + 1] += force;
        }
    }
};

// Values whose differences are given (slopes that may take one value only) are one unknown: the first of the run.
struct Runs {
    std::vector<size_t> run;  // of each value
    Numbers offset;           // of each value from the first of its run
    Chain chain;              // between runs
    size_t count = 0;

    Runs(const Chain& all, size_t values) {
        for (size_t i = 0; i < values; i++) {
            const bool joined = i > 0 && all.rigid(i - 1);
            if (i > 0 && !joined) {
                const double last = offset[i - 1];
                chain.stiffness.push_back(all.stiffness[i - 1]), chain.span.push_back(all.span[i - 1] + last);
                chain.least.push_back(all.least[i - 1] + last), chain.most.push_back(all.most[i - 1] + last);
            }
            offset.push_back(joined ? offset[i - 1] + all.least[i - 1] : 0.0);
            run.push_back(count += joined ? 0 : 1);
            run.back()--;
        }
    }
};

// Symmetric tridiagonal systems; `link` joins i and i + 1. Without pivots: the diagonal dominates, as every link is part of
// the diagonal at both its ends.
inline void solve_tridiagonal(Numbers& diagonal, const Numbers& link, Numbers& values) {
    const size_t count = diagonal.size();
    for (size_t i = 1; i < count; i++) {
        const double ratio = link[i - 1] / diagonal[i - 1];
        diagonal[i] -= ratio * link[i - 1];
        values[i] -= ratio * values[i - 1];
    }
    for (size_t i = count; i-- > 0;) {
        if (i + 1 < count) values[i] -= link[i] * values[i + 1];
        values[i] /= diagonal[i];
    }
}

class Blocks {
  public:
    Blocks(const int8_t* pins, const int8_t* glues, size_t count) : pins_(pins), glues_(glues), count_(count) {
        for (size_t i = 0; i < count; i++) {
            if (i == 0 || glues[i - 1] == loose) first_.push_back(i), pinned_.push_back(0);
            if (pins[i] != moves) pinned_.back() = 1;
        }
        first_.push_back(count);
    }

    size_t count() const { return pinned_.size(); }

    // u with Zᵀ(H Z u' − v) = 0, u = Z u', where Z moves each free block as one: of all solutions the shortest
    Numbers solve(const Chain& chain, const Numbers& curvature, const Numbers& v) const {
        Numbers moved(count_, 0.0);
        each_run(chain, [&](size_t begin, size_t end) { solve_run(begin, end, chain, curvature, v, moved); });
        return moved;
    }

    // `moved` without what moves runs of blocks as a whole that nothing anchors
    void take_drift(const Chain& chain, const Numbers& curvature, Numbers& moved) const {
        each_run(chain, [&](size_t begin, size_t end) {
            double anchored = 0, mean = 0;
            for (size_t i = first_[begin]; i < first_[end]; i++) anchored += curvature[i], mean += moved[i];
            if (begin > 0) anchored += chain.stiffness[first_[begin] - 1];
            if (end < count()) anchored += chain.stiffness[first_[end] - 1];
            mean /= double(first_[end] - first_[begin]);
            for (size_t i = first_[begin]; anchored == 0 && i < first_[end]; i++) moved[i] -= mean;
        });
    }

    // What a small change of each active constraint is worth, when a change of φ_i is worth worth[i]: of the pins, and
    // of the differences φ_{i+1} − φ_i that are glued. `strength` is by how much the objective's slope jumps at each value.
    // A bound or an end holds its block, whatever kinks it lies on: where a bound that moves passes a kink one way and
    // not the other there is no derivative. Without them the middle kink holds against slopes, and places where x and y
    // agree take the block with them.
    void distribute(const Numbers& worth, const Numbers& strength, const double* t, Numbers& of_pins,
                    Numbers& of_differences) const {
        of_pins = worth;
        of_differences.assign(count_ ? count_ - 1 : 0, 0.0);
        for (size_t b = 0; b < count(); b++) {
            const size_t begin = first_[b], end = first_[b + 1];
            if (end - begin < 2) continue;
            std::vector<char> holds(end - begin, 0);
            bool any = false;
            for (size_t i = begin; i < end; i++)
                if (pins_[i] == at_least || pins_[i] == at_most || pins_[i] == at_end) holds[i - begin] = 1, any = true;
            if (!any) holds[middle(begin, end, strength, t) - begin] = 1;
            hold_shortest(begin, holds, worth, of_pins, of_differences);
            const auto crossings = std::count(pins_ + begin, pins_ + end, int8_t(on_crossing));
            const double total = std::accumulate(worth.begin() + begin, worth.begin() + end, 0.0);
            for (size_t i = begin; i < end; i++)
                if (pins_[i] == on_crossing) of_pins[i] = total / double(crossings);
        }
    }

    // the largest force that nothing holds
    double residual(const Numbers& gradient) const {
        double worst = 0;
        for (size_t b = 0; b < count(); b++) {
            double sum = 0;
            for (size_t i = first_[b]; i < first_[b + 1]; i++) sum += gradient[i];
            if (!pinned_[b]) worst = std::max(worst, std::abs(sum));
        }
        return worst;
    }

    // members take their places behind the pin, or behind the first of the block
    void place_members(const Chain& chain, double* phi) const {
        for (size_t b = 0; b < count(); b++) {
            size_t anchor = first_[b];
            for (size_t i = first_[b]; i < first_[b + 1]; i++)
                if (pins_[i] != moves) {
                    anchor = i;
                    break;
                }
            for (size_t i = anchor; i > first_[b]; i--)
                if (pins_[i - 1] == moves) phi[i - 1] = phi[i] - held(chain, i - 1);
            for (size_t i = anchor; i + 1 < first_[b + 1]; i++)
                if (pins_[i + 1] == moves) phi[i + 1] = phi[i] + held(chain, i);
        }
    }

  private:
    // free blocks one behind the other that pull at each other
    template <class F> void each_run(const Chain& chain, F&& f) const {
        for (size_t b = 0, end; b < count(); b = end) {
            for (end = b + 1; !pinned_[b] && end < count() && !pinned_[end]; end++)
                if (!(chain.stiffness[first_[end] - 1] > 0)) break;
            if (!pinned_[b]) f(b, end);
        }
    }

    // Of kinks in a block that may only move as one, the one that holds when slopes change. When they grow by ε it is the j
    // with the least Σ_i g_i(ε(t_i − t_j)), g_i(z) being the objective beside kink i; when they shrink, with −ε. Where it is
    // the same one both ways it has the least sum of the two, which is ε Σ_i strength_i |t_i − t_j|: the median, weighted by
    // how strong the kinks are.
    static size_t middle(size_t begin, size_t end, const Numbers& strength, const double* t) {
        double total = 0, weight = 0, moment = 0, least = std::numeric_limits<double>::infinity();
        for (size_t i = begin; i < end; i++) total += strength[i];
        size_t found = begin;
        for (size_t i = begin; i < end; i++) {
            weight += strength[i], moment += strength[i] * t[i];
            const double apart = t[i] * (2 * weight - total) - 2 * moment;
            if (strength[i] > 0 && apart < least) found = i, least = apart;
        }
        return found;
    }

    // Of all ways to hold a block at some of its values and by its glues, that of the shortest forces: a hold at i is worth
    // p_i and a glue p_{i+1} − p_i, with p_i·[held] − Σ_neighbours (p_j − p_i) = worth_i. Where holds and glues say the same
    // twice, a change that respects both moves the block as it would with either.
    void hold_shortest(size_t begin, const std::vector<char>& holds, const Numbers& worth, Numbers& of_pins,
                       Numbers& of_differences) const {
        const size_t size = holds.size();
        const auto from = worth.begin() + std::ptrdiff_t(begin);
        Numbers diagonal(size, 2.0), p(from, from + std::ptrdiff_t(size));
        const Numbers link(size, -1.0);
        diagonal.front() = diagonal.back() = 1.0;
        for (size_t i = 0; i < size; i++) diagonal[i] += holds[i];
        solve_tridiagonal(diagonal, link, p);
        for (size_t i = 0; i < size; i++) {
            of_pins[begin + i] = holds[i] ? p[i] : 0.0;
            if (i + 1 < size) of_differences[begin + i] = p[i + 1] - p[i];
        }
    }

    double held(const Chain& chain, size_t i) const { return glues_[i] == slowest ? chain.least[i] : chain.most[i]; }

    void solve_run(size_t begin, size_t end, const Chain& chain, const Numbers& curvature, const Numbers& v,
                   Numbers& moved) const {
        const size_t size = end - begin;
        Numbers diagonal(size, 0.0), link(size, 0.0), values(size, 0.0), weight(size, 0.0);
        double bound = 0, anchored = 0;
        for (size_t b = begin; b < end; b++) {
            double& d = diagonal[b - begin];
            for (size_t i = first_[b]; i < first_[b + 1]; i++) d += curvature[i], values[b - begin] += v[i];
            anchored += d;
            weight[b - begin] = double(first_[b + 1] - first_[b]);
            if (first_[b] > 0) {
                d += chain.stiffness[first_[b] - 1];
                if (b == begin) anchored += chain.stiffness[first_[b] - 1];
            }
            if (first_[b + 1] < count_) {
                d += chain.stiffness[first_[b + 1] - 1];
                if (b + 1 < end) link[b - begin] = -chain.stiffness[first_[b + 1] - 1];
                else anchored += chain.stiffness[first_[b + 1] - 1];
            }
            bound = std::max(bound, d);
        }
        const bool floats = anchored <= 1e-13 * bound || bound == 0;  // the run may be moved as a whole for nothing
        if (floats) {
            double total = 0, members = 0;
            for (size_t b = 0; b < size; b++) total += values[b], members += weight[b];
            for (size_t b = 0; b < size; b++) values[b] -= total * weight[b] / members;
            diagonal[size - 1] += bound > 0 ? bound : 1.0;  // any hold does: the right side asks nothing of it
        }
        solve_tridiagonal(diagonal, link, values);
        if (floats) {
            double mean = 0, members = 0;
            for (size_t b = 0; b < size; b++) mean += values[b] * weight[b], members += weight[b];
            for (size_t b = 0; b < size; b++) values[b] -= mean / members;
        }
        for (size_t b = begin; b < end; b++)
            for (size_t i = first_[b]; i < first_[b + 1]; i++) moved[i] = values[b - begin];
    }

    const int8_t* pins_;
    const int8_t* glues_;
    size_t count_;
    std::vector<size_t> first_;
    std::vector<char> pinned_;
};

}  // namespace timelike
