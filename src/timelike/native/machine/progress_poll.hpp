// A call from Python while the kernels work: the lock is given back, Ctrl-C is heard and the progress bar is told.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace timelike {

// An exception stops the work and is raised when it has ended.
struct ProgressPoll {
    nanobind::object report;
    std::optional<nanobind::python_error> raised;

    bool operator()(int64_t done, int64_t total) {
        nanobind::gil_scoped_acquire held;
        try {
            // Python only notes a signal; it raises when somebody asks
            if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
            if (!report.is_none()) report(done, total);
            return true;
        } catch (nanobind::python_error& error) {
            raised.emplace(std::move(error));
            return false;
        }
    }

    template <class Work>
    void over(const Work& work) {
        {
            nanobind::gil_scoped_release released;
            work([this](int64_t done, int64_t total) { return (*this)(done, total); });
        }
        // outside the block above: an exception is Python's, and may be touched with the lock only
        if (raised) throw std::move(*raised);
    }
};

}  // namespace timelike
