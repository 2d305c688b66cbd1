// Weights and biases of GRUs and LSTMs between torch's order, (gate, unit) rows, and the panels of recurrent/table.hpp.
#pragma once
#include <vector>

#include "machine/memory.hpp"
#include "recurrent/plan.hpp"

namespace timelike {
namespace {

// One layer as torch has it: (gate and unit, input), (gate and unit, unit) and the biases (gate and unit) of both.
template <class T>
struct LayerWeights {
    T *input, *state, *input_bias, *state_bias;
};
template <class T> using Layer = LayerWeights<const T>;

// (panel of units, column, gate, lane)
template <class T>
void pack_forwards(const RecurrentSizes& s, const T* from, int64_t columns, T* into) {
    const int64_t wide = s.wide();
    for (int64_t unit = 0; unit < s.units(); unit++, into += columns * wide)
        for (int64_t g = 0; g < s.gates; g++)
            for (int64_t lane = 0; lane < s.lanes; lane++) {
                const int64_t u = unit * s.lanes + lane;
                const T* const row = from + (g * s.hidden + u) * columns;
                T* const to = into + g * s.lanes + lane;
                for (int64_t k = 0; k < columns; k++) to[k * wide] = u < s.hidden ? row[k] : T(0);
            }
}

// (panel of columns, panel of units, gate, lane, column); the last panel has whole registers only
template <class T>
void pack_back(const RecurrentSizes& s, const T* from, int64_t columns, T* into) {
    for (int64_t first = 0; first < columns; first += s.wide()) {
        const int64_t some = std::min(s.wide(), columns - first), padded = (some + s.lanes - 1) / s.lanes * s.lanes;
        for (int64_t unit = 0; unit < s.units(); unit++)
            for (int64_t g = 0; g < s.gates; g++)
                for (int64_t u = unit * s.lanes; u < (unit + 1) * s.lanes; u++, into += padded) {
                    std::fill_n(into, padded, T(0));
                    if (u < s.hidden) std::copy_n(from + (g * s.hidden + u) * columns + first, some, into);
                }
    }
}

// The weights of all layers in the order in which the kernels read them, for one of the two ways or both.
template <class T>
class PackedWeights {
  public:
    PackedWeights(const RecurrentSizes& s, const std::vector<Layer<T>>& layers, bool forwards, bool backwards) {
        for (int64_t l = 0; l < s.layers; l++) {
            const Layer<T>& layer = layers[size_t(l)];
            const int64_t reads = s.reads(l), rows = s.units() * s.wide();
            RecurrentCell<T> cell{reads, s.hidden, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
            if (forwards) {
                pack_forwards(s, layer.input, reads, take(cell.input, rows * reads));
                pack_forwards(s, layer.state, s.hidden, take(cell.state, rows * s.hidden));
                pack_biases(s, layer, cell);
            }
            if (backwards) {
                pack_back(s, layer.input, reads, take(cell.input_back, rows * s.panels(reads) * s.wide()));
                pack_back(s, layer.state, s.hidden, take(cell.state_back, rows * s.states() * s.wide()));
            }
            cells.push_back(cell);
        }
    }
    std::vector<RecurrentCell<T>> cells;

  private:
    T* take(const T*& place, int64_t count) {
        memory_.push_back(buffer<T>(count));
        place = memory_.back().get();
        return memory_.back().get();
    }
    void pack_biases(const RecurrentSizes& s, const Layer<T>& layer, RecurrentCell<T>& cell) {
        T* const bias = take(cell.bias, s.units() * s.wide());
        T* const fresh = take(cell.fresh, s.units() * s.lanes);
        for (int64_t u = 0; u < s.units() * s.lanes; u++) {
            const int64_t panel = u / s.lanes, lane = u % s.lanes;
            for (int64_t g = 0; g < s.gates; g++) {
                const bool apart = s.gates == 3 && g == 2, real = u < s.hidden;  // a GRU resets what comes from states alone
                const T one = real ? layer.input_bias[g * s.hidden + u] : T(0);
                const T two = real ? layer.state_bias[g * s.hidden + u] : T(0);
                bias[(panel * s.gates + g) * s.lanes + lane] = apart ? one : one + two;
                if (g == s.gates - 1) fresh[u] = two;
            }
        }
    }
    std::vector<Buffer<T>> memory_;
};

// The gradients of one layer's weights, summed over some of the sequences.
template <class T>
struct WeightSums {
    WeightSums(const RecurrentSizes& s, int64_t layer)
        : input(zeros(s.units() * s.panels(s.reads(layer)) * s.wide() * s.wide())),
          state(zeros(s.units() * s.states() * s.wide() * s.wide())), bias(zeros(s.units() * s.wide())),
          fresh(zeros(s.units() * s.wide())) {}
    static Buffer<T> zeros(int64_t count) {
        Buffer<T> made = buffer<T>(count);
        std::fill_n(made.get(), count, T(0));
        return made;
    }
    Buffer<T> input, state, bias, fresh;
};

// Row (gate, unit) of the weights' gradient, from the sums of all parts in their order.
template <class T, class Part>
void collect_row(const RecurrentSizes& s, int64_t parts, const Part& part, int64_t gate, int64_t unit, int64_t columns, T* into) {
    const int64_t wide = s.wide(), across = s.panels(columns), row = gate * s.lanes + unit % s.lanes;
    into += (gate * s.hidden + unit) * columns;
    std::fill_n(into, columns, T(0));
    for (int64_t p = 0; p < across; p++)
        for (int64_t n = 0; n < parts; n++) {
            const T* const from = part(n) + ((unit / s.lanes * across + p) * wide + row) * wide;
            for (int64_t k = 0; k < std::min(wide, columns - p * wide); k++) into[p * wide + k] += from[k];
        }
}

template <class T, class Part>
T collect_bias(const RecurrentSizes& s, int64_t parts, const Part& part, int64_t gate, int64_t unit) {
    T sum = 0;
    for (int64_t n = 0; n < parts; n++) sum += part(n)[(unit / s.lanes * s.gates + gate) * s.lanes + unit % s.lanes];
    return sum;
}

// All rows of one unit, from `sums` (part, layer).
template <class T>
void collect(const RecurrentSizes& s, const std::vector<std::vector<WeightSums<T>>>& sums, int64_t layer, int64_t unit,
                    const LayerWeights<T>& into) {
    const int64_t parts = int64_t(sums.size());
    const auto of = [&](int64_t n) -> const WeightSums<T>& { return sums[size_t(n)][size_t(layer)]; };
    for (int64_t g = 0; g < s.gates; g++) {
        const int64_t at = g * s.hidden + unit;
        collect_row(s, parts, [&](int64_t n) { return of(n).input.get(); }, g, unit, s.reads(layer), into.input);
        collect_row(s, parts, [&](int64_t n) { return of(n).state.get(); }, g, unit, s.hidden, into.state);
        into.input_bias[at] = collect_bias<T>(s, parts, [&](int64_t n) { return of(n).bias.get(); }, g, unit);
        into.state_bias[at] = into.input_bias[at];  // an LSTM's are one sum
        if (s.gates == 3) into.state_bias[at] = collect_bias<T>(s, parts, [&](int64_t n) { return of(n).fresh.get(); }, g, unit);
    }
}

}  // namespace
}  // namespace timelike
