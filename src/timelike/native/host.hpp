// The arrays of Python, and which instruction set is meant.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "table.hpp"
#include "watch.hpp"

namespace timelike {

namespace nb = nanobind;
template <class T> using Array4 = nb::ndarray<T, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
template <class T> using Array3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ids = Array1<const int64_t>;
using Isa = std::optional<std::string>;

namespace {

using Poll = std::function<bool(int64_t, int64_t)>;

[[maybe_unused]] std::string name_of(const Isa& isa) {
    const Table* table = isa ? named(isa->c_str()) : &chosen();
    if (!table) throw std::invalid_argument("isa='" + *isa + "' is not built in or this processor cannot run it");
    return table->name;
}

}  // namespace
}  // namespace timelike
