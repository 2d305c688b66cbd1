// All windows of a stream through the problem: what is known of each is kept, so that a second search begins where the
// first one left.
#include "stream/window_search.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "machine/host.hpp"

namespace timelike {
namespace {

enum State : int8_t { seen = 0, bounded = 1, exact = 2 };  // what `bounds` says of a window: some bound, the best, the total

const WindowKernels& kernels() {
    static constexpr const WindowKernels* built[] = TIMELIKE_TABLES(window_kernels);
    static const WindowKernels& best = table_for({}, built);
    return best;
}

// Sums of many terms carry rounding, and a bound must stay below.
double slack_of(const WindowQuery& problem) {
    return 4 * double(problem.length * (problem.channels + 1) + 8) * std::numeric_limits<double>::epsilon();
}

void sift(const WindowQuery& problem, Cost cost, int64_t begin, int64_t end, double limit, double* bounds, int8_t* states) {
    const int together = kernels().together;
    const double below = 1 - slack_of(problem);
    double found[most_windows];
    for (int64_t first = begin; first < end; first += together) {
        const int64_t last = std::min(end, first + together);
        bool asked = false;
        for (int64_t s = first; s < last && !asked; s++) asked = states[s] == seen && bounds[s] <= limit;
        if (!asked) continue;
        const bool whole = kernels().bound(problem, cost, first, limit, found);
        for (int64_t s = first; s < last; s++) {
            if (states[s] != seen) continue;
            bounds[s] = std::max(bounds[s], found[s - first] * below);
            if (whole) states[s] = bounded;
        }
    }
}

// In the order given; the limit falls to the least total that is found.
double total(const WindowQuery& problem, Cost cost, const int64_t* ids, int64_t count, double limit, double* bounds, int8_t* states) {
    const int together = kernels().together;
    const double slack = slack_of(problem);
    std::vector<double> scratch(size_t(most_windows * (problem.length * (problem.channels + 3) + 8)));
    double found[most_windows];
    int64_t starts[most_windows];
    for (int64_t next = 0; next < count;) {
        int used = 0;
        for (; next < count && used < together; next++)
            if (states[ids[next]] != exact && bounds[ids[next]] <= limit) starts[used++] = ids[next];
        if (!used) break;
        std::fill(starts + used, starts + together, starts[used - 1]);
        const bool whole = kernels().warp(problem, cost, starts, limit * (1 + slack), scratch.data(), found);
        for (int l = 0; l < used; l++) {
            const int64_t s = starts[l];
            if (whole) bounds[s] = found[l], states[s] = exact, limit = std::min(limit, found[l]);
            else bounds[s] = std::max(bounds[s], found[l] * (1 - slack));
        }
    }
    return limit;
}

using Rows = Array2<const double>;
using Places = Array1<const int64_t>;

WindowQuery sieve_of(const Rows& query, const Rows& low, const Rows& high, const Rows& samples, const Rows& floors, const Rows& ceilings,
               const Rows& means, const Rows& scales, const Places& order, int64_t radius) {
    return {query.data(), low.data(), high.data(), samples.data(), floors.data(), ceilings.data(), means.data(), scales.data(),
            order.data(), int64_t(query.shape(1)), int64_t(query.shape(0)), radius, int64_t(samples.shape(1)), int64_t(means.shape(1))};
}

}  // namespace

void define_sieve(nb::module_& module) {
    module.def("sift", [](Rows query, Rows low, Rows high, Rows samples, Rows floors, Rows ceilings, Rows means, Rows scales, Places order,
                          int64_t radius, int cost, int64_t begin, int64_t end, double limit, Array1<double> bounds, Array1<int8_t> states) {
        nb::gil_scoped_release released;
        sift(sieve_of(query, low, high, samples, floors, ceilings, means, scales, order, radius), Cost(cost), begin, end, limit,
             bounds.data(), states.data());
    });
    module.def("sift_totals", [](Rows query, Rows low, Rows high, Rows samples, Rows floors, Rows ceilings, Rows means, Rows scales, Places order,
                                 int64_t radius, int cost, Places ids, double limit, Array1<double> bounds, Array1<int8_t> states) {
        nb::gil_scoped_release released;
        return total(sieve_of(query, low, high, samples, floors, ceilings, means, scales, order, radius), Cost(cost), ids.data(),
                     int64_t(ids.size()), limit, bounds.data(), states.data());
    });
}

}  // namespace timelike
