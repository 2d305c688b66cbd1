// Python's side of the kernels. The caller (native/__init__.py) has checked everything; here buffers become pointers.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <stdexcept>

#include "pairs.hpp"
#include "watch.hpp"

namespace nb = nanobind;
using namespace timelike;

namespace timelike {
void define_convolve(nb::module_& module);           // convolve.cpp
void define_coupled(nb::module_& module);            // coupled.cpp
void define_coupled_gradients(nb::module_& module);  // coupled_gradients.cpp
void define_coupled_pairs(nb::module_& module);      // coupled_pairs.cpp
void define_soft(nb::module_& module);               // soft.cpp
void define_stream(nb::module_& module);             // stream.cpp
void define_transport(nb::module_& module);          // transport.cpp
void define_warp(nb::module_& module);               // warp.cpp
}  // namespace timelike

template <class T> using Steps = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Isa = std::optional<std::string>;

static const Table& table_for(const Isa& isa) {
    if (!isa) return chosen();
    if (const Table* table = named(isa->c_str())) return *table;
    throw std::invalid_argument("isa='" + *isa + "' is not built in or this processor cannot run it");
}

template <class T>
static Collection<T> collection(const Steps<T>& values, const Line<int64_t>& starts, const Line<int64_t>& lengths) {
    return {values.data(), starts.data(), lengths.data(), int64_t(lengths.size()), int64_t(values.shape(1))};
}

// Rules go by name, so that Python need not know their order.
static Rule rule_named(const char* name) {
    const char* const* names = chosen().rules;
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
        [](nb::tuple plan, Steps<T> x, Line<int64_t> x_starts, Line<int64_t> x_lengths, Steps<T> y, Line<int64_t> y_starts,
           Line<int64_t> y_lengths, Line<T> gap, Line<T> x_thresholds, Line<T> y_thresholds, bool symmetric, int threads,
           Matrix<T> out, nb::object report, Isa isa) {
            const Request<T> request{collection(x, x_starts, x_lengths), collection(y, y_starts, y_lengths), symmetric,
                                     program(plan, gap, x_thresholds, y_thresholds), out.data(), threads};
            const Table& table = table_for(isa);
            Watch{report, {}}.over([&](const Poll& poll) { pairwise(request, table, poll); });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::kw_only(), nb::arg("symmetric"), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("report").none(),
        nb::arg("isa") = nb::none());

    module.def(
        "search",
        [](nb::tuple plan, Steps<T> x, Line<int64_t> x_starts, Line<int64_t> x_lengths, Steps<T> y, Line<int64_t> y_starts,
           Line<int64_t> y_lengths, Line<T> gap, Line<T> x_thresholds, Line<T> y_thresholds, bool rooted, int threads,
           Matrix<int64_t> ids, Matrix<T> distances, nb::object report, Isa isa) {
            const Collection<T> queries = collection(x, x_starts, x_lengths), items = collection(y, y_starts, y_lengths);
            const Program<T> how = program(plan, gap, x_thresholds, y_thresholds);
            const Table& table = table_for(isa);
            Watch{report, {}}.over([&](const Poll& poll) {
                search(queries, items, how, int64_t(ids.shape(1)), rooted, threads, ids.data(), distances.data(), table, poll);
            });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::kw_only(), nb::arg("rooted"), nb::arg("threads"), nb::arg("ids").noconvert(), nb::arg("distances").noconvert(),
        nb::arg("report").none(), nb::arg("isa") = nb::none());

    module.def(
        "lower_bounds",
        [](nb::tuple plan, Steps<T> x, Line<int64_t> x_starts, Line<int64_t> x_lengths, Steps<T> y, Line<int64_t> y_starts,
           Line<int64_t> y_lengths, Matrix<T> out, Isa isa) {
            const Program<T> how = program<T>(plan, {}, {}, {});
            return lower_bounds(collection(x, x_starts, x_lengths), collection(y, y_starts, y_lengths), how, out.data(),
                                table_for(isa));
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::kw_only(), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());

    module.def(
        "path",
        [](nb::tuple plan, Steps<T> x, Steps<T> y, Line<T> gap, Line<T> x_thresholds, Line<T> y_thresholds, int64_t budget,
           Isa isa) {
            const Pair<T> pair{x.data(), y.data(), int64_t(x.shape(0)), int64_t(y.shape(0)), int64_t(x.shape(1))};
            const Program<T> how = program(plan, gap, x_thresholds, y_thresholds);
            const Table& table = table_for(isa);
            Path<T>* found = new Path<T>;
            nb::capsule owner(found, [](void* memory) noexcept { delete static_cast<Path<T>*>(memory); });
            Watch{nb::none(), {}}.over([&](const Poll& poll) { *found = path(pair, how, budget, table, poll); });
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
            const Table& table = table_for(isa);
            Watch{nb::none(), {}}.over([&](const Poll& poll) { matrix(pair, how, out.data(), table, poll); });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::kw_only(), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());
}

NB_MODULE(_kernels, module) {
    module.doc() = "Compiled kernels of timelike; use them through timelike.native.";
    define<float>(module);
    define<double>(module);
    define_convolve(module);
    define_coupled(module);
    define_coupled_gradients(module);
    define_coupled_pairs(module);
    define_stream(module);
    define_soft(module);
    define_transport(module);
    define_warp(module);
    module.def("isa", [] { return std::string(chosen().name); }, "The instruction set in use.");
    module.def("isas", [] {
        std::vector<std::string> runnable;
        for (const char* name : {"v2", "v3", "v4", "generic"})
            if (named(name)) runnable.emplace_back(name);
        return runnable;
    }, "Instruction sets that are built in and that this processor runs.");
    module.def("rules", [] {
        std::vector<std::string> names;
        for (const char* const* name = chosen().rules; *name; name++) names.emplace_back(*name);
        return names;
    }, "The recurrences that are built in.");
    module.def(
        "bounds",
        [](int shape, int64_t cells, double share, nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig> lo,
           nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig> hi, int64_t m) {
            Window{Shape(shape), cells, share}.fill(int64_t(lo.size()), m, lo.data(), hi.data());
        },
        "The first and last column of every row of a band.");
}
