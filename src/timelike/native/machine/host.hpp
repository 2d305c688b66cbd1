// What the host's side of every family shares: the arrays of Python, sequences in them, and which instruction set is meant.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "machine/dispatch.hpp"
#include "machine/packed_sequences.hpp"
#include "machine/progress_poll.hpp"

namespace timelike {

namespace nb = nanobind;
template <class T> using Array4 = nb::ndarray<T, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
template <class T> using Array3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ids = Array1<const int64_t>;

template <class T>
PackedSequences<T> packed_sequences(const Array2<const T>& values, const Ids& starts, const Ids& lengths) {
    return {values.data(), starts.data(), lengths.data(), int64_t(lengths.size()), int64_t(values.shape(1))};
}

}  // namespace timelike
