// Many warps: problems from Python's buffers, threads over pairs, forward and backward.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "machine/host.hpp"
#include "machine/pool.hpp"
#include "warp/grid.hpp"

namespace timelike {
namespace {

constexpr const WarpTable* built[] = TIMELIKE_TABLES(warp_table);

struct Options {
    Penalty penalty;
    double delta;
    bool free_ends;
    int64_t grid;  // 0: chosen by lengths
    int refinements;
    double shrink;
    bool polish;
};

// Sequences one behind the other with their clocks; a single value is held over the whole of [0, 1].
struct Problems {
    Array2<const double> x, y;
    Array1<const double> t, tau;
    Ids x_starts, x_lengths, y_starts, y_lengths;  // of each sequence
    Ids x_ids, y_ids;                              // of each pair
    Ids knots;   // where each pair's m values begin
    Array1<const double> lambda, s_min, s_max, b_min, b_max;         // by knot of each pair; intervals leave the last unused
    size_t pairs() const { return x_ids.size(); }
};

// One pair of them, with a second value of y where it has only one.
struct Pair {
    WarpProblem problem;
    Numbers y, tau;

    Pair(const Problems& b, const Options& o, size_t pair) {
        const size_t i = size_t(b.x_ids(pair)), j = size_t(b.y_ids(pair));
        const int64_t channels = int64_t(b.x.shape(1)), at = b.knots(pair);
        const double* first = b.y.data() + b.y_starts(j) * channels;
        problem = {b.x_lengths(i), b.y_lengths(j), channels, b.x.data() + b.x_starts(i) * channels, first,
                   b.t.data() + b.x_starts(i), b.tau.data() + b.y_starts(j), b.lambda.data() + at, b.s_min.data() + at,
                   b.s_max.data() + at, b.b_min.data() + at, b.b_max.data() + at, o.penalty, o.delta, o.free_ends};
        if (problem.n > 1) return;
        y.assign(first, first + channels);
        y.insert(y.end(), first, first + channels);
        tau = {0.0, 1.0};
        problem.y = y.data(), problem.tau = tau.data(), problem.n = 2;
    }
};

Bounds given_bounds(const WarpProblem& p) {
    Bounds bounds;
    for (int64_t i = 0; i < p.m; i++) {
        bounds.low.push_back(std::max(0.0, p.b_min[i])), bounds.high.push_back(std::min(1.0, p.b_max[i]));
    }
    if (!p.free_ends && p.m > 1) {
        bounds.high[0] = std::min(bounds.high[0], 0.0);
        bounds.low[size_t(p.m - 1)] = std::max(bounds.low[size_t(p.m - 1)], 1.0);
    }
    return bounds;
}

// Which basin is found depends on values per step of y: sixteen, where that is affordable. With few knots more cost nothing.
int64_t usual_grid(const WarpProblem& p) {
    const int64_t affordable = std::clamp<int64_t>((1 << 19) / p.m, 2048, 4096);
    const int64_t cheap = std::min<int64_t>(2048, 16384 / p.m);
    return std::max({int64_t(256), p.n, cheap, std::min(16 * p.n, affordable)});
}

// A grid too coarse for the slopes would allow only mixtures of the least and the greatest warp.
int64_t grid_for_slopes(const Chain& chain, const Bounds& tight) {
    double need = 0;
    for (size_t i = 0; i < chain.size(); i++) {
        const double give = chain.most[i] - chain.least[i], width = tight.high[i + 1] - tight.low[i + 1];
        if (give > 0) need = std::max(need, std::min(4096.0, 2 * width / give));
    }
    return int64_t(need);
}

// How many values per knot each pass tries.
struct Grids {
    int64_t first, later;

    Grids(const WarpProblem& p, const Chain& chain, const Bounds& tight, int64_t asked) {
        const int64_t tied = asked ? 0 : grid_for_slopes(chain, tight);
        first = asked ? asked : std::max(usual_grid(p), tied);
        // the first two decide which basin it is; boxes far narrower see it closely enough with a quarter
        later = std::max({tied, std::min<int64_t>(first, 64), first / 4});
    }
    int64_t of(int pass) const { return pass < 2 ? first : later; }
};

struct Answer {
    double *phi, *objective, *residual;
    WarpState state;
};

// A box around a warp with a share of the first one's width, inside the first one: a bad basin can be left again.
void close_in(const Bounds& first, const double* around, double share, Bounds& box) {
    for (size_t i = 0; i < box.low.size(); i++) {
        const double half = share * (first.high[i] - first.low[i]) / 2;
        box.low[i] = std::max(first.low[i], around[i] - half), box.high[i] = std::min(first.high[i], around[i] + half);
    }
}

// So little regularisation that it only decides between warps that fit equally well: for λ = 0, the straightest of them.
double hardly_any(const WarpProblem& p) {
    double range = 0;
    for (int64_t c = 0; c < p.channels; c++) {
        double low = p.y[c], high = p.y[c];
        for (int64_t k = 0; k < p.n; k++)
            low = std::min(low, p.y[k * p.channels + c]), high = std::max(high, p.y[k * p.channels + c]);
        range = std::max(range, high - low);
    }
    return range > 0 ? 1e-7 * range * (p.penalty == Penalty::squared ? range : 1.0) : 1.0;
}

Conflict solve(const WarpProblem& p, const Options& o, const WarpTable& kernels, const Answer& answer,
               const volatile bool* stop) {
    const Signal signal(p);
    const Chain chain(p, hardly_any(p));
    const Bounds bounds = given_bounds(p);
    Bounds tight = bounds;
    if (const Conflict found = tighten(chain, tight); found.knot >= 0) return found;
    const Grids grids(p, chain, tight, o.grid);
    GridSearch search(signal, chain, grids.first, kernels);
    Polish polish(signal, chain, bounds);
    Bounds box = tight;
    Numbers phi(size_t(p.m));
    double lowest = 0, share = 1;
    for (int pass = 0; pass <= o.refinements; pass++) {
        if (!search.run(box, grids.of(pass), phi.data(), stop)) return {};
        const double value = polish.objective(phi.data());
        if (pass == 0 || value < lowest) lowest = value, std::copy(phi.begin(), phi.end(), answer.phi);
        share *= o.shrink;
        close_in(tight, answer.phi, share, box);
        tighten(chain, box);
    }
    *answer.residual = o.polish ? polish.run(answer.phi, answer.state) : 0.0;
    *answer.objective = polish.objective(answer.phi, Chain(p));
    return {};
}

// The pins that hold. A time of y at which the objective does not bend holds nothing; places where x and y agree move a
// block with y only if those that move alike outweigh all its other kinks, and not if a bound or an end holds it.
std::vector<int8_t> firm(const Signal& signal, const double* phi, const WarpState& s, const Numbers& slopes,
                         Numbers& strength) {
    const size_t m = strength.size();
    double force = 0;
    for (size_t i = 0; i < m; i++) force = std::max({force, std::abs(slopes[i]), std::abs(strength[i])});
    std::vector<int8_t> found(s.pins, s.pins + m);
    auto own = [&](size_t i) { return 2 * signal.weight(int64_t(i)) * std::abs(signal.rate(s.segments[i], s.crossing[i])); };
    auto alike = [&](size_t i, size_t j) {
        return s.pins[j] == on_crossing && s.crossing[i] == s.crossing[j] && std::abs(phi[i] - phi[j]) <= 10 * touching;
    };
    for (size_t begin = 0, end; begin < m; begin = end) {
        double total = 0;
        bool bound = false;
        for (end = begin; end == begin || (end < m && s.glues[end - 1] != loose); end++) {
            if (std::abs(strength[end]) <= 1e-10 * force) strength[end] = 0;
            if (s.pins[end] == on_kink && strength[end] <= 0) found[end] = moves;
            bound |= s.pins[end] == at_least || s.pins[end] == at_most || s.pins[end] == at_end;
            total += std::abs(strength[end]);
        }
        for (size_t i = begin; i < end; i++) {
            if (s.pins[i] != on_crossing) continue;
            double together = 0;
            for (size_t j = begin; j < end; j++)
                if (alike(i, j)) together += own(j);
            if (bound || 2 * together <= total) found[i] = on_kink;
        }
    }
    return found;
}

// The pieces a warp lies on. On a step of y there are two: inside the bound that holds a block, or else where it is pushed
// to, or where its force vanishes; on the same side for all of a block, which moves as one.
std::vector<Piece> sides_taken(const Signal& signal, const Chain& chain, const double* phi, const WarpState& s) {
    const size_t m = size_t(signal.problem().m);
    std::vector<Piece> before, pieces;
    Numbers below(m), above(m);
    double force = 0;
    for (size_t i = 0; i < m; i++) {
        before.push_back(signal.piece(int64_t(i), phi[i], -1)), pieces.push_back(signal.piece(int64_t(i), phi[i], 1));
        below[i] = before[i].slope, above[i] = pieces[i].slope;
    }
    chain.add_gradient(phi, below), chain.add_gradient(phi, above);
    for (size_t i = 0; i < m; i++) force = std::max({force, std::abs(below[i]), std::abs(above[i])});
    for (size_t begin = 0, end; begin < m; begin = end) {
        double left = 0, right = 0;
        bool low = false, high = false;
        for (end = begin; end == begin || (end < m && s.glues[end - 1] != loose); end++) {
            left += below[end], right += above[end];
            low |= s.pins[end] == at_least, high |= s.pins[end] == at_most;
        }
        const double tolerance = 1e-10 * force;
        const bool falls = std::abs(left) < std::abs(right) - tolerance || std::min(left, right) > tolerance;
        if (high || (!low && falls)) std::copy(before.begin() + begin, before.begin() + end, pieces.begin() + begin);
    }
    return pieces;
}

// dJ/dinputs from dJ/dφ and dJ/dobjective, by differentiating the conditions of optimality
void differentiate(const WarpProblem& p, const double* phi, const WarpState& s, const double* of_phi, double of_objective,
                   const WarpGradients& g) {
    const size_t m = size_t(p.m);
    const Signal signal(p);
    const Chain given(p), chain(p, hardly_any(p));  // the warp that is moved is the one that was found
    std::vector<Piece> pieces = sides_taken(signal, chain, phi, s);
    Numbers curvature(m), slopes(m), strength(m), v(of_phi, of_phi + m);
    for (size_t i = 0; i < m; i++) {
        curvature[i] = pieces[i].curvature, slopes[i] = pieces[i].slope;
        strength[i] = signal.piece(int64_t(i), phi[i], 1).slope - signal.piece(int64_t(i), phi[i], -1).slope;
    }
    chain.add_gradient(phi, slopes);
    const std::vector<int8_t> pins = firm(signal, phi, s, slopes, strength);
    const Blocks blocks(pins.data(), s.glues, m);
    Numbers adjoint = blocks.solve(chain, curvature, v);
    Numbers worth(m), of_pins, of_differences;  // v − H·adjoint, and the objective's own slope
    for (size_t i = 0; i < m; i++) worth[i] = v[i] - curvature[i] * adjoint[i] + of_objective * slopes[i];
    for (size_t i = 0; i < chain.size(); i++) {
        const double force = chain.stiffness[i] * (adjoint[i + 1] - adjoint[i]);
        worth[i] += force, worth[i + 1] -= force;
    }
    blocks.distribute(worth, strength, p.t, of_pins, of_differences);
    blocks.take_drift(given, curvature, adjoint);  // what nothing holds, signals would move by any amount

    for (size_t i = 0; i < m; i++) {
        const int64_t k = pieces[i].segment, channels = p.channels;
        const double span = p.tau[k + 1] - p.tau[k], share = (phi[i] - p.tau[k]) / span, w = signal.weight(int64_t(i));
        const double middle = ((pieces[i].low + pieces[i].high) / 2 - p.tau[k]) / span, a = adjoint[i];
        if (pins[i] == at_least) g.b_min[i] += of_pins[i];
        if (pins[i] == at_most) g.b_max[i] += of_pins[i];
        for (int64_t c = 0; c < channels; c++) {
            const double rate = signal.rate(k, c);
            const double d = signal.difference(int64_t(i), k, share, c), typical = signal.difference(int64_t(i), k, middle, c);
            // penalty' and penalty'' at d; the slope in φ is −w·penalty'(d)·rate
            const bool square = signal.squares(typical);
            const double first = square ? 2 * d : signal.straight() * (typical > 0 ? 1.0 : typical < 0 ? -1.0 : 0.0);
            const double second = square ? 2.0 : 0.0;
            const double of_d = of_objective * w * first + a * w * second * rate, of_rate = a * w * first;
            g.x[i * channels + c] += of_d;
            g.y[k * channels + c] -= (1 - share) * of_d + of_rate / span;
            g.y[(k + 1) * channels + c] -= share * of_d - of_rate / span;
            if (pins[i] != on_crossing || c != s.crossing[i] || rate == 0) continue;
            const double of_place = of_pins[i] / rate;  // the place where channel c of x and y agree
            g.x[i * channels + c] += of_place;
            g.y[k * channels + c] -= (1 - share) * of_place;
            g.y[(k + 1) * channels + c] -= share * of_place;
        }
    }
    for (size_t i = 0; i < chain.size(); i++) {
        const double off = (phi[i + 1] - phi[i]) / chain.span[i] - 1;
        g.lambda[i] += of_objective * chain.span[i] * off * off - 2 * off * (adjoint[i + 1] - adjoint[i]);
        if (s.glues[i] == slowest) g.s_min[i] += of_differences[i] * chain.span[i];
        if (s.glues[i] == fastest) g.s_max[i] += of_differences[i] * chain.span[i];
    }
}

Options options(const nb::tuple& o) {
    return {Penalty(nb::cast<int>(o[0])), nb::cast<double>(o[1]), nb::cast<bool>(o[2]), nb::cast<int64_t>(o[3]),
            nb::cast<int>(o[4]), nb::cast<double>(o[5]), nb::cast<bool>(o[6])};
}

Problems problems(const nb::tuple& b) {
    return {nb::cast<Array2<const double>>(b[0]), nb::cast<Array2<const double>>(b[1]), nb::cast<Array1<const double>>(b[2]),
            nb::cast<Array1<const double>>(b[3]), nb::cast<Ids>(b[4]), nb::cast<Ids>(b[5]),
            nb::cast<Ids>(b[6]), nb::cast<Ids>(b[7]), nb::cast<Ids>(b[8]),
            nb::cast<Ids>(b[9]), nb::cast<Ids>(b[10]), nb::cast<Array1<const double>>(b[11]),
            nb::cast<Array1<const double>>(b[12]), nb::cast<Array1<const double>>(b[13]), nb::cast<Array1<const double>>(b[14]),
            nb::cast<Array1<const double>>(b[15])};
}

}  // namespace

void define_warp(nb::module_& module) {
    module.def(
        "warp",
        [](nb::tuple given, nb::tuple how, int threads, Array1<double> phi, Array1<double> objective, Array1<double> residual,
           Array1<int8_t> pins, Array1<int8_t> glues, Array1<int32_t> segments, Array1<int32_t> crossing, nb::object report,
           Isa isa) {
            const Problems b = problems(given);
            const Options o = options(how);
            const WarpTable& kernels = table_for(isa, built);
            std::vector<Conflict> conflicts(b.pairs());
            const int64_t total = int64_t(b.pairs());
            volatile bool stop = false;
            ProgressPoll{report, {}}.over([&](const auto& poll) {
                run_tasks(
                    total, threads,
                    [&](int64_t pair, int) {
                        const Pair one(b, o, size_t(pair));
                        const int64_t at = b.knots(size_t(pair));
                        const Answer answer{phi.data() + at, objective.data() + pair, residual.data() + pair,
                                            {pins.data() + at, glues.data() + at, segments.data() + at, crossing.data() + at}};
                        conflicts[size_t(pair)] = solve(one.problem, o, kernels, answer, &stop);
                    },
                    [&](int64_t done) { return poll(done, total); }, &stop);
            });
            for (size_t pair = 0; pair < conflicts.size(); pair++)
                if (conflicts[pair].knot >= 0)
                    return std::make_tuple(int64_t(pair), conflicts[pair].knot, conflicts[pair].from_below);
            return std::make_tuple(int64_t(-1), int64_t(-1), false);
        },
        nb::arg(), nb::arg(), nb::kw_only(), nb::arg("threads"), nb::arg("phi").noconvert(), nb::arg("objective").noconvert(),
        nb::arg("residual").noconvert(), nb::arg("pins").noconvert(), nb::arg("glues").noconvert(),
        nb::arg("segments").noconvert(), nb::arg("crossing").noconvert(), nb::arg("report").none(), nb::arg("isa") = nb::none());

    module.def(
        "warp_gradients",
        [](nb::tuple given, nb::tuple how, int threads, Array1<const double> phi, Array1<int8_t> pins, Array1<int8_t> glues,
           Array1<int32_t> segments, Array1<int32_t> crossing, Array1<const double> of_phi, Array1<const double> of_objective,
           Array2<double> x, Array2<double> y, Array1<double> lambda, Array1<double> s_min, Array1<double> s_max,
           Array1<double> b_min, Array1<double> b_max, Ids x_rows, Ids y_rows) {
            const Problems b = problems(given);
            const Options o = options(how);
            const int64_t channels = int64_t(b.x.shape(1));
            const int64_t total = int64_t(b.pairs());
            volatile bool stop = false;
            ProgressPoll{nb::none(), {}}.over([&](const auto& poll) {
                run_tasks(
                    total, threads,
                    [&](int64_t number, int) {
                        const size_t pair = size_t(number);
                        const Pair one(b, o, pair);
                        const int64_t at = b.knots(pair);
                        const WarpState state{pins.data() + at, glues.data() + at, segments.data() + at, crossing.data() + at};
                        // a pair's own: several pairs may share y, on several threads
                        Numbers of_y(size_t(one.problem.n * channels), 0.0);
                        differentiate(one.problem, phi.data() + at, state, of_phi.data() + at, of_objective(pair),
                                      {x.data() + x_rows(pair) * channels, of_y.data(), lambda.data() + at, s_min.data() + at,
                                       s_max.data() + at, b_min.data() + at, b_max.data() + at});
                        const int64_t n = b.y_lengths(size_t(b.y_ids(pair)));
                        double* into = y.data() + y_rows(pair) * channels;
                        for (int64_t e = 0; e < one.problem.n * channels; e++) into[n == 1 ? e % channels : e] += of_y[size_t(e)];
                    },
                    [&](int64_t done) { return poll(done, total); }, &stop);
            });
        });
}

}  // namespace timelike
