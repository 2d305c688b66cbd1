// The bounds and the recurrence of stream/problem.hpp, compiled once per instruction set: a lane is a window. Without
// contraction, so that every instruction set gives the same bits.
#include "machine/simd.hpp"
#include "stream/window_search.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

constexpr int wide = lanes<double>;
constexpr int parts = 2;  // registers at once, because one waits for itself
constexpr int windows = parts * wide;
constexpr int patience = 16;  // steps between two looks at the limit
static_assert(windows <= most_windows, "rows of the stream end too early");

struct Lanes {
    vec<double> part[parts];
};

inline Lanes every(double value) {
    Lanes all;
    for (int p = 0; p < parts; p++) all.part[p] = vec<double>{} + value;
    return all;
}
inline Lanes read(const double* from) {
    Lanes found;
    for (int p = 0; p < parts; p++) found.part[p] = load(from + p * wide);
    return found;
}
inline void write(double* into, const Lanes& value) {
    for (int p = 0; p < parts; p++) store(into + p * wide, value.part[p]);
}
template <class F>
inline Lanes each(const F& made) {
    Lanes found;
    for (int p = 0; p < parts; p++) found.part[p] = made(p);
    return found;
}

inline bool all_above(const Lanes& values, double limit) {
    Lanes low = values;
    for (int p = 1; p < parts; p++) low.part[0] = least(low.part[0], low.part[p]);
    for (int l = 0; l < wide; l++)
        if (!(low.part[0][l] > limit)) return false;
    return true;
}

// What the channels of one step add to the cost of that step, and what becomes of their sum.
template <Cost C>
inline vec<double> priced(vec<double> difference) { return C == Cost::manhattan ? magnitude(difference) : difference * difference; }
template <Cost C>
inline vec<double> closed(vec<double> sum) { return C == Cost::euclidean ? root(sum) : sum; }

template <Cost C>
struct LowerBounds {
    const WindowQuery& problem;
    int64_t first;

    inline vec<double> normal(const double* rows, int64_t channel, int64_t step, int p) const {
        const int64_t at = channel * problem.window_row + first + p * wide;
        return (load(rows + channel * problem.sample_row + first + step + p * wide) - load(problem.means + at)) * load(problem.scales + at);
    }

    // Paths begin at the first two steps and end at the last two (Kim).
    inline Lanes meeting(int64_t step) const {
        return each([&](int p) {
            vec<double> sum{};
            for (int64_t c = 0; c < problem.channels; c++)
                sum += priced<C>(normal(problem.samples, c, step, p) - problem.query[c * problem.length + step]);
            return closed<C>(sum);
        });
    }

    // How far a step of the windows is outside the box of the query around it (Keogh) …
    inline vec<double> outside_query(int64_t step, int p) const {
        vec<double> sum{};
        for (int64_t c = 0; c < problem.channels; c++) {
            const vec<double> value = normal(problem.samples, c, step, p);
            const int64_t at = c * problem.length + step;
            sum += priced<C>(most(most(value - problem.high[at], problem.low[at] - value), vec<double>{}));
        }
        return closed<C>(sum);
    }

    // … and a step of the query outside the box of the stream.
    inline vec<double> outside_stream(int64_t step, int p) const {
        vec<double> sum{};
        for (int64_t c = 0; c < problem.channels; c++) {
            const vec<double> low = normal(problem.floors, c, step, p), high = normal(problem.ceilings, c, step, p);
            const double value = problem.query[c * problem.length + step];
            sum += priced<C>(most(most(value - high, low - value), vec<double>{}));
        }
        return closed<C>(sum);
    }

    // The ends are met already: a step between them adds what it is outside.
    template <class F>
    inline bool added(Lanes& total, double limit, const F& outside) const {
        int64_t looked = 0;
        for (int64_t k = 0; k < problem.length; k++) {
            const int64_t step = problem.order[k];
            if (step == 0 || step == problem.length - 1) continue;
            for (int p = 0; p < parts; p++) total.part[p] += outside(step, p);
            if (++looked % patience == 0 && all_above(total, limit)) return false;
        }
        return true;
    }

    bool run(double limit, double* bounds) const {
        Lanes ends = meeting(0);
        if (problem.length > 1) {
            const Lanes last = meeting(problem.length - 1);
            for (int p = 0; p < parts; p++) ends.part[p] += last.part[p];
        }
        Lanes one = ends, other = ends;
        bool whole = !all_above(ends, limit);
        if (whole) whole = added(one, limit, [&](int64_t step, int p) { return outside_query(step, p); });
        if (whole && !all_above(one, limit))
            whole = added(other, limit, [&](int64_t step, int p) { return outside_stream(step, p); });
        write(bounds, each([&](int p) { return most(one.part[p], other.part[p]); }));
        return whole;
    }
};

template <Cost C>
struct WindowDtw {
    const WindowQuery& problem;
    double *values, *rest, *before, *now;  // (step × channel, window), (step, window), rows of the recurrence

    WindowDtw(const WindowQuery& given, double* scratch) : problem(given), values(scratch) {
        rest = values + windows * problem.length * problem.channels;
        before = rest + windows * (problem.length + 1);
        now = before + windows * (problem.length + 2);
    }

    void gather(const int64_t* starts) {
        for (int64_t c = 0; c < problem.channels; c++)
            for (int l = 0; l < windows; l++) {
                const double mean = problem.means[c * problem.window_row + starts[l]], scale = problem.scales[c * problem.window_row + starts[l]];
                const double* from = problem.samples + c * problem.sample_row + starts[l];
                for (int64_t i = 0; i < problem.length; i++) values[(i * problem.channels + c) * windows + l] = (from[i] - mean) * scale;
            }
    }

    // What the steps from each on cost at least, whatever the path does there.
    void sum_rest() {
        Lanes sum = every(0);
        write(rest + problem.length * windows, sum);
        for (int64_t i = problem.length - 1; i >= 0; i--) {
            for (int p = 0; p < parts; p++) {
                vec<double> step{};
                for (int64_t c = 0; c < problem.channels; c++) {
                    const vec<double> value = load(values + (i * problem.channels + c) * windows + p * wide);
                    const int64_t at = c * problem.length + i;
                    step += priced<C>(most(most(value - problem.high[at], problem.low[at] - value), vec<double>{}));
                }
                sum.part[p] += closed<C>(step);
            }
            write(rest + i * windows, sum);
        }
    }

    inline vec<double> cost(int64_t i, int64_t j, int p) const {
        vec<double> sum{};
        for (int64_t c = 0; c < problem.channels; c++)
            sum += priced<C>(load(values + (i * problem.channels + c) * windows + p * wide) - problem.query[c * problem.length + j]);
        return closed<C>(sum);
    }

    // Rows are steps of the windows; column j of the query is at place j + 1, with what cannot be reached around the band.
    bool run(double limit, double* totals) {
        const int64_t m = problem.length, radius = problem.radius;
        for (int64_t j = 0; j <= m + 1; j++) write(before + j * windows, every(infinity<double>));
        write(before, every(0));  // the corner that the first cell comes from
        for (int64_t i = 0; i < m; i++) {
            const int64_t from = i > radius ? i - radius : 0, to = i + radius < m - 1 ? i + radius : m - 1;
            Lanes left = every(infinity<double>), low = left;
            write(now + from * windows, left);
            for (int64_t j = from; j <= to; j++) {
                for (int p = 0; p < parts; p++) {
                    const vec<double> corner = load(before + j * windows + p * wide), above = load(before + (j + 1) * windows + p * wide);
                    left.part[p] = cost(i, j, p) + least(left.part[p], least(corner, above));
                    low.part[p] = least(low.part[p], left.part[p]);
                }
                write(now + (j + 1) * windows, left);
            }
            if (to + 2 <= m) write(now + (to + 2) * windows, every(infinity<double>));
            const Lanes rests = read(rest + (i + 1) * windows);
            for (int p = 0; p < parts; p++) low.part[p] += rests.part[p];
            if (i + 1 < m && all_above(low, limit)) {
                write(totals, low);
                return false;
            }
            double* done = before;
            before = now, now = done;
        }
        write(totals, read(before + m * windows));
        return true;
    }
};

template <class F>
inline bool with_cost(Cost cost, const F& work) {
    switch (cost) {
        case Cost::sqeuclidean: return work.template operator()<Cost::sqeuclidean>();
        case Cost::euclidean: return work.template operator()<Cost::euclidean>();
        default: return work.template operator()<Cost::manhattan>();
    }
}

struct BoundingPass {
    const WindowQuery& problem;
    int64_t first;
    double limit, *bounds;
    template <Cost C> bool operator()() const { return LowerBounds<C>{problem, first}.run(limit, bounds); }
};
struct WarpingPass {
    const WindowQuery& problem;
    const int64_t* starts;
    double limit, *scratch, *totals;
    template <Cost C> bool operator()() const {
        WindowDtw<C> warps(problem, scratch);
        warps.gather(starts);
        warps.sum_rest();
        return warps.run(limit, totals);
    }
};

bool bound(const WindowQuery& problem, Cost cost, int64_t first, double limit, double* bounds) {
    return with_cost(cost, BoundingPass{problem, first, limit, bounds});
}
bool warp(const WindowQuery& problem, Cost cost, const int64_t* starts, double limit, double* scratch, double* totals) {
    return with_cost(cost, WarpingPass{problem, starts, limit, scratch, totals});
}

}  // namespace

extern const WindowKernels window_kernels = {windows, bound, warp};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
