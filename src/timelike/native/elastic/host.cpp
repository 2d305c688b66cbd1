// Python's side of the elastic distances. elastic/__init__.py has checked everything; here buffers become pointers.
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>

#include "elastic/pairs.hpp"
#include "machine/host.hpp"

namespace timelike {

template <class T> using Steps = Array2<const T>;
template <class T> using Line = Array1<const T>;
template <class T> using Matrix = Array2<T>;

static constexpr const Table* built[] = TIMELIKE_TABLES(table);

// Rules go by name, so that Python need not know their order.
static Rule rule_named(const char* name) {
    const char* const* names = table_for({}, built).rules;
    for (int k = 0; names[k]; k++)
        if (!std::strcmp(name, names[k])) return Rule(k);
    throw std::invalid_argument("rule='" + std::string(name) + "': no struct of this name is in the list in cells.hpp");
}

// (rule, cost, counted, first, second, shape, cells, share) and the arrays some rules need
template <class T>
static Program<T> program(const nb::tuple& plan, const Line<T>& gap, const Line<T>& x_thresholds, const Line<T>& y_thresholds) {
    const Recurrence how{rule_named(nb::cast<const char*>(plan[0])), Cost(nb::cast<int>(plan[1])), nb::cast<bool>(plan[2]),
                         nb::cast<double>(plan[3]), nb::cast<double>(plan[4])};
    const Window window{Shape(nb::cast<int>(plan[5])), nb::cast<int64_t>(plan[6]), nb::cast<double>(plan[7])};
    return {how, window, gap.data(), x_thresholds.data(), y_thresholds.data()};
}

template <class T>
static void define(nb::module_& module) {
    module.def(
        "pairwise",
        [](nb::tuple plan, Steps<T> x, Ids x_starts, Ids x_lengths, Steps<T> y, Ids y_starts,
           Ids y_lengths, Line<T> gap, Line<T> x_thresholds, Line<T> y_thresholds, bool symmetric, int threads,
           Matrix<T> out, nb::object report, Isa isa) {
            const Request<T> request{packed_sequences<T>(x, x_starts, x_lengths), packed_sequences<T>(y, y_starts, y_lengths), symmetric,
                                     program(plan, gap, x_thresholds, y_thresholds), out.data(), threads};
            const Table& table = table_for(isa, built);
            ProgressPoll{report, {}}.over([&](const Poll& poll) { pairwise(request, table, poll); });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::kw_only(), nb::arg("symmetric"), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("report").none(),
        nb::arg("isa") = nb::none());

    module.def(
        "search",
        [](nb::tuple plan, Steps<T> x, Ids x_starts, Ids x_lengths, Steps<T> y, Ids y_starts,
           Ids y_lengths, Line<T> gap, Line<T> x_thresholds, Line<T> y_thresholds, bool rooted, int threads,
           Matrix<int64_t> ids, Matrix<T> distances, nb::object report, Isa isa) {
            const PackedSequences<T> queries = packed_sequences<T>(x, x_starts, x_lengths), items = packed_sequences<T>(y, y_starts, y_lengths);
            const Program<T> how = program(plan, gap, x_thresholds, y_thresholds);
            const Table& table = table_for(isa, built);
            ProgressPoll{report, {}}.over([&](const Poll& poll) {
                search(queries, items, how, int64_t(ids.shape(1)), rooted, threads, ids.data(), distances.data(), table, poll);
            });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::kw_only(), nb::arg("rooted"), nb::arg("threads"), nb::arg("ids").noconvert(), nb::arg("distances").noconvert(),
        nb::arg("report").none(), nb::arg("isa") = nb::none());

    module.def(
        "nearest_by_window",
        [](nb::tuple plan, Steps<T> x, Ids x_starts, Ids x_lengths, Array1<const int64_t> cells, Array1<const double> shares,
           Steps<T> totals, bool rooted, bool averaged, int threads, Matrix<int64_t> out, nb::object report, Isa isa) {
            Program<T> how = program<T>(plan, {}, {}, {});
            std::vector<Window> bands;
            for (size_t k = 0; k < cells.size(); k++) bands.push_back({how.window.shape, cells.data()[k], shares.data()[k]});
            const PackedSequences<T> items = packed_sequences<T>(x, x_starts, x_lengths);
            const Table& table = table_for(isa, built);
            ProgressPoll{report, {}}.over([&](const Poll& poll) {
                nearest_by_window(items, how, bands, totals.data(), rooted, averaged, threads, out.data(), table, poll);
            });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::kw_only(), nb::arg("rooted"), nb::arg("averaged"), nb::arg("threads"),
        nb::arg("out").noconvert(), nb::arg("report").none(), nb::arg("isa") = nb::none());

    module.def(
        "lower_bounds",
        [](nb::tuple plan, Steps<T> x, Ids x_starts, Ids x_lengths, Steps<T> y, Ids y_starts,
           Ids y_lengths, Matrix<T> out, Isa isa) {
            const Program<T> how = program<T>(plan, {}, {}, {});
            return lower_bounds(packed_sequences<T>(x, x_starts, x_lengths), packed_sequences<T>(y, y_starts, y_lengths), how, out.data(),
                                table_for(isa, built));
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::kw_only(), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());

    module.def(
        "path",
        [](nb::tuple plan, Steps<T> x, Steps<T> y, Line<T> gap, Line<T> x_thresholds, Line<T> y_thresholds, int64_t budget,
           Isa isa) {
            const Pair<T> pair{x.data(), y.data(), int64_t(x.shape(0)), int64_t(y.shape(0)), int64_t(x.shape(1))};
            const Program<T> how = program(plan, gap, x_thresholds, y_thresholds);
            const Table& table = table_for(isa, built);
            Path<T>* found = new Path<T>;
            nb::capsule owner(found, [](void* memory) noexcept { delete static_cast<Path<T>*>(memory); });
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) { *found = path(pair, how, budget, table, poll); });
            const size_t shape[2] = {found->steps.size() / 2, 2};
            nb::ndarray<nb::numpy, int64_t> steps(found->steps.data(), 2, shape, owner);
            return nb::make_tuple(steps, double(found->distance));
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::kw_only(), nb::arg("budget"), nb::arg("isa") = nb::none());

    module.def(
        "matrix",
        [](nb::tuple plan, Steps<T> x, Steps<T> y, Line<T> gap, Line<T> x_thresholds, Line<T> y_thresholds, Matrix<T> out,
           Isa isa) {
            const Pair<T> pair{x.data(), y.data(), int64_t(x.shape(0)), int64_t(y.shape(0)), int64_t(x.shape(1))};
            const Program<T> how = program(plan, gap, x_thresholds, y_thresholds);
            const Table& table = table_for(isa, built);
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) { matrix(pair, how, out.data(), table, poll); });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::kw_only(), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());
}

void define_elastic(nb::module_& module) {
    define<float>(module);
    define<double>(module);
    module.def("rules", [] {
        std::vector<std::string> names;
        for (const char* const* name = table_for({}, built).rules; *name; name++) names.emplace_back(*name);
        return names;
    }, "The recurrences that are built in.");
    module.def(
        "bounds",
        [](int shape, int64_t cells, double share, Array1<int32_t> lo, Array1<int32_t> hi, int64_t m) {
            Window{Shape(shape), cells, share}.fill(int64_t(lo.size()), m, lo.data(), hi.data());
        },
        "The first and last column of every row of a band.");
}

}  // namespace timelike
