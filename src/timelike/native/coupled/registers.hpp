// A list of pairs in registers: which pairs share one, and their inputs, laid out a stretch of steps at a time.
#pragma once
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "coupled/weights.hpp"
#include "coupled/pair_list.hpp"

namespace timelike {
namespace {

// Pair p is x[first[p]] and y[second[p]].
template <class T>
struct PairList {
    PackedSequences<T> x, y;
    const int64_t* first;
    const int64_t* second;
    int64_t count;
};

// The pairs sorted by length, so that the lanes of a register end together, and where the states kept of each register lie.
template <class T>
class Registers {
  public:
    Registers(const PairList<T>& pairs, int lanes, int64_t hidden) : lanes(lanes), order_(size_t(pairs.count)) {
        std::iota(order_.begin(), order_.end(), 0);
        const auto lengths = [&](int64_t p) { return std::minmax({pairs.x.lengths[pairs.first[p]], pairs.y.lengths[pairs.second[p]]}); };
        std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return lengths(a) < lengths(b); });
        count = (pairs.count + lanes - 1) / lanes;
        begins.push_back(0);
        for (int64_t r = 0; r < count; r++) {
            int64_t steps = 0;
            for (int l = 0; l < used(r); l++) steps = std::max(steps, lengths(pair(r, l)).second);
            begins.push_back(begins.back() + (steps - 1) / coupled_stretch * 2 * hidden * lanes);
        }
    }
    int used(int64_t r) const { return int(std::min<int64_t>(lanes, int64_t(order_.size()) - r * lanes)); }
    // lanes without a pair repeat the last
    int64_t pair(int64_t r, int l) const { return order_[size_t(r * lanes + std::min(l, used(r) - 1))]; }

    int lanes;
    int64_t count;
    std::vector<int64_t> begins;

  private:
    std::vector<int64_t> order_;
};

// One of the two sequences of every lane.
template <class T>
class LaneInputs {
  public:
    LaneInputs(int lanes, int64_t features)
        : items(size_t(lanes)), lengths(size_t(lanes)), steps(size_t(lanes)), values_(size_t(lanes)), begins_(size_t(lanes)),
          counts_(size_t(lanes)), laid_(buffer<T>(coupled_stretch * features * lanes)) {}

    void take(const PackedSequences<T>& from, const Registers<T>& registers, int64_t r, const int64_t* chosen) {
        for (size_t l = 0; l < items.size(); l++) {
            items[l] = chosen[registers.pair(r, int(l))];
            lengths[l] = from.lengths[items[l]];
            values_[l] = from.values + from.starts[items[l]] * from.channels;
        }
    }
    const T* lay(const CoupledPairKernels<T>& kernels, int64_t features, int64_t begin, int64_t count) {
        for (size_t l = 0; l < items.size(); l++) {
            const int64_t from = std::min(begin, lengths[l]);
            steps[l] = std::min(lengths[l] - from, count);
            begins_[l] = values_[l] + from * features, counts_[l] = steps[l] * features;
        }
        kernels.lay(begins_.data(), counts_.data(), count * features, laid_.get());
        return laid_.get();
    }

    std::vector<int64_t> items, lengths;
    std::vector<int64_t> steps;  // of the stretch laid out last

  private:
    std::vector<const T*> values_, begins_;
    std::vector<int64_t> counts_;
    Buffer<T> laid_;
};

// The inputs of a register of pairs.
template <class T>
struct LanePairs {
    LanePairs(int lanes, int64_t hidden) : x(lanes, 3 * hidden), y(lanes, 3 * hidden) {}

    void take(const PairList<T>& pairs, const Registers<T>& registers, int64_t r) {
        x.take(pairs.x, registers, r, pairs.first), y.take(pairs.y, registers, r, pairs.second);
        steps = 0;
        for (size_t l = 0; l < x.lengths.size(); l++) steps = std::max({steps, x.lengths[l], y.lengths[l]});
    }
    CoupledStretch<T> stretch(const CoupledPairKernels<T>& kernels, int64_t hidden, int64_t begin) {
        const int64_t count = std::min(coupled_stretch, steps - begin);
        return {x.lay(kernels, 3 * hidden, begin, count), y.lay(kernels, 3 * hidden, begin, count), x.lengths.data(), y.lengths.data(),
                begin, count};
    }

    // how many gates a pair has while both of its sequences run
    T gates(int lane, int64_t hidden) const { return T(std::min(x.lengths[size_t(lane)], y.lengths[size_t(lane)]) * hidden); }

    LaneInputs<T> x, y;
    int64_t steps = 0;  // of the longest
};

template <class T>
const CoupledPairKernels<T>& pair_kernels(const Isa& isa) {
    constexpr const CoupledPairTable* built[] = TIMELIKE_TABLES(coupled_pair_table);
    if constexpr (sizeof(T) == 4) return table_for(isa, built).f32;
    else return table_for(isa, built).f64;
}

}  // namespace
}  // namespace timelike
