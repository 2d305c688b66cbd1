// Python's side of the kernels. The caller (native/__init__.py) has checked everything; here buffers become pointers.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>

#include "pairs.hpp"

namespace nb = nanobind;
using namespace timelike;

namespace timelike { void define_stream(nb::module_& module); }  // stream.cpp

template <class T> using Steps = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Marks = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static const Table& table_for(const std::optional<std::string>& isa) {
    if (!isa) return chosen();
    if (const Table* table = named(isa->c_str())) return *table;
    throw std::invalid_argument("isa='" + *isa + "' is not built in or this processor cannot run it");
}

// Between tiles: hear Ctrl-C, tell the progress bar. An exception stops the work and is raised when it has ended.
struct Watch {
    nb::object report;
    std::optional<nb::python_error> raised;

    bool operator()(int64_t done, int64_t total) {
        nb::gil_scoped_acquire held;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (!report.is_none()) report(done, total);
            return true;
        } catch (nb::python_error& error) {
            raised.emplace(std::move(error));
            return false;
        }
    }
    void raise_if_any() {
        if (raised) throw std::move(*raised);
    }
};

template <class T>
static Collection<T> collection(const Steps<T>& values, const Marks& starts, const Marks& lengths) {
    return {values.data(), starts.data(), lengths.data(), int64_t(lengths.size()), int64_t(values.shape(1))};
}

template <class T>
static void pairwise(Steps<T> x, Marks x_starts, Marks x_lengths, Steps<T> y, Marks y_starts, Marks y_lengths,
                     bool symmetric, int64_t cells, double share, int cost, int threads, Matrix<T> out, nb::object report,
                     std::optional<std::string> isa) {
    const Request<T> request{collection(x, x_starts, x_lengths), collection(y, y_starts, y_lengths), symmetric,
                             {cells, share}, Cost(cost), out.data(), threads};
    const Table& table = table_for(isa);
    Watch watch{report, {}};
    {
        nb::gil_scoped_release released;
        dtw_pairwise<T>(request, table, [&](int64_t done, int64_t total) { return watch(done, total); });
    }
    watch.raise_if_any();
}

template <class T>
static nb::tuple path(Steps<T> x, Steps<T> y, int64_t cells, double share, int cost, std::optional<std::string> isa) {
    const Table& table = table_for(isa);
    Watch watch{nb::none(), {}};
    Path<T>* found = new Path<T>;
    nb::capsule owner(found, [](void* memory) noexcept { delete static_cast<Path<T>*>(memory); });
    {
        nb::gil_scoped_release released;
        *found = dtw_path<T>(x.data(), int64_t(x.shape(0)), y.data(), int64_t(y.shape(0)), int64_t(x.shape(1)),
                             {cells, share}, Cost(cost), table,
                             [&](int64_t done, int64_t total) { return watch(done, total); });
    }
    watch.raise_if_any();
    const size_t shape[2] = {found->steps.size() / 2, 2};
    return nb::make_tuple(nb::ndarray<nb::numpy, int64_t>(found->steps.data(), 2, shape, owner), double(found->distance));
}

template <class T>
static void define(nb::module_& module) {
    module.def("dtw_pairwise", &pairwise<T>, nb::arg("x").noconvert(), nb::arg("x_starts").noconvert(),
               nb::arg("x_lengths").noconvert(), nb::arg("y").noconvert(), nb::arg("y_starts").noconvert(),
               nb::arg("y_lengths").noconvert(), nb::kw_only(), nb::arg("symmetric"), nb::arg("cells"), nb::arg("share"),
               nb::arg("cost"), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("report").none(),
               nb::arg("isa") = nb::none());
    module.def("dtw_path", &path<T>, nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::kw_only(), nb::arg("cells"),
               nb::arg("share"), nb::arg("cost"), nb::arg("isa") = nb::none());
}

NB_MODULE(_kernels, module) {
    module.doc() = "Compiled kernels of timelike; use them through timelike.native.";
    define<float>(module);
    define<double>(module);
    define_stream(module);
    module.def("isa", [] { return std::string(chosen().name); }, "The instruction set in use.");
    module.def("isas", [] {
        std::vector<std::string> runnable;
        for (const char* name : {"v2", "v3", "v4", "generic"})
            if (named(name)) runnable.emplace_back(name);
        return runnable;
    }, "Instruction sets that are built in and that this processor runs.");
}
