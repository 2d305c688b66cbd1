// Sequences by their lengths. Those of like length share a register, so that few lanes run over padding.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "machine/packed_sequences.hpp"

namespace timelike {

template <class T>
int64_t longest(const PackedSequences<T>& of) { return *std::max_element(of.lengths, of.lengths + of.count); }

// Positions from the shortest sequence to the longest; stable, so that the order is the same on every machine.
template <class T>
std::vector<int64_t> by_length(const PackedSequences<T>& of) {
    std::vector<int64_t> order(size_t(of.count), 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return of.lengths[a] < of.lengths[b]; });
    return order;
}

}  // namespace timelike
