// Long work without the interpreter's lock: Ctrl-C is heard and progress is told.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

namespace timelike {
namespace nb = nanobind;

// Between tasks: hear Ctrl-C, tell the progress bar. An exception stops the work and is raised when it has ended.
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

    template <class Work>
    void over(const Work& work) {
        {
            nb::gil_scoped_release released;
            work([this](int64_t done, int64_t total) { return (*this)(done, total); });
        }
        if (raised) throw std::move(*raised);
    }
};

}  // namespace timelike
