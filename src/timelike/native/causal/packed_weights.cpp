// Matrices in panels, at the points, turned round; and gradients at the points back to taps.
#include "causal/packed_weights.hpp"

#include <algorithm>
#include <cmath>

namespace timelike {
namespace {

// Weights of a convolution with three taps g_0, g_1, g_2, of which output j reads inputs j, j + 1, j + 2, at the points
// 0, ±1, ±2, ∞ and divided by what interpolation needs.
constexpr double at_point[causal_points][3] = {
    {1.0 / 4, 0, 0},           {-1.0 / 6, -1.0 / 6, -1.0 / 6}, {-1.0 / 6, 1.0 / 6, -1.0 / 6},
    {1.0 / 24, 2.0 / 24, 4.0 / 24}, {1.0 / 24, -2.0 / 24, 4.0 / 24}, {0, 0, 1},
};
constexpr int64_t few = 8;  // inputs below which the way to the points costs more than it saves

int64_t padded(int64_t channels) { return causal_units(channels) * causal_unit; }

}  // namespace

CausalPackedWeights::CausalPackedWeights(const CausalTable& kernels, const std::vector<GivenBlock>& given, float slope, Purpose purpose,
                           const CausalBfloat16* functions)
    : kernels(kernels), purpose(purpose) {
    const size_t last = given.size() - 1;
    for (size_t b = 0; b < given.size(); b++) {
        const GivenBlock& block = given[b];
        const int64_t dilation = int64_t(1) << std::min<size_t>(b, 40);  // beyond any length; further ones would overflow
        forwards.push_back({layer(block.first, dilation, false), layer(block.second, dilation, false), shortcut(block, false)});
        if (purpose == Purpose::gradients && b < last)
            backwards.push_back({layer(block.first, dilation, true), layer(block.second, dilation, true), shortcut(block, true)});
    }
    stack = {given[0].first.inputs, int64_t(given.size()), forwards.data(), slope, nullptr};
    if (functions && purpose != Purpose::sizes) roughen(given[last].second, *functions);
    turned = {backwards.data(), nullptr, nullptr, nullptr};
    if (purpose == Purpose::gradients) turn_last(given[last]);
}

// (row, output) in panels; `value(row, output)` is requested every number.
template <class Value>
void CausalPackedWeights::arrange(int64_t rows, int64_t outputs, const Value& value, float* into) {
    const int64_t units = causal_units(outputs);
    for (int64_t u = 0; u < units;) {
        const int64_t begin = u * causal_unit, end = begin + kernels.panel(units, u) * causal_unit, filled = end < outputs ? end : outputs;
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t o = begin; o < filled; o++) *into++ = value(r, o);
            for (int64_t o = filled; o < end; o++) *into++ = 0;
        }
        u = end / causal_unit;
    }
}

float* CausalPackedWeights::room(int64_t count) {
    memory.emplace_back(size_t(count));
    return memory.back().data();
}

template <class Value>
const float* CausalPackedWeights::arranged(int64_t rows, int64_t outputs, const Value& value) {
    float* const into = room(rows * padded(outputs));
    arrange(rows, outputs, value, into);
    return into;
}

const float* CausalPackedWeights::padded_bias(const float* bias, int64_t outputs) {
    float* const into = room(padded(outputs) + causal_unit);  // rough products take two units at once
    std::copy(bias, bias + outputs, into);
    return into;
}

CausalLayer CausalPackedWeights::layer(const GivenLayer& given, int64_t dilation, bool round) {
    const int64_t inputs = round ? given.outputs : given.inputs, outputs = round ? given.inputs : given.outputs;
    CausalLayer made{given.taps, inputs, outputs, dilation, nullptr, nullptr, nullptr};
    if (purpose == Purpose::sizes) return made;
    const auto weight = [&](int64_t k, int64_t i, int64_t o) {
        return round ? given.weights[(k * outputs + o) * inputs + i] : given.weights[(k * inputs + i) * outputs + o];
    };
    made.weights = arranged(given.taps * inputs, outputs, [&](int64_t row, int64_t o) { return weight(row / inputs, row % inputs, o); });
    if (!round) made.bias = padded_bias(given.bias, outputs);
    if (given.taps != 3 || given.inputs < few || given.outputs < few) return made;
    const int64_t size = inputs * padded(outputs);
    float* const tiles = room(causal_points * size);
    for (int64_t p = 0; p < causal_points; p++) {
        // taps count into the past, polynomials forwards
        const double *const g = at_point[p], now = round ? g[0] : g[2], before = g[1], first = round ? g[2] : g[0];
        arrange(inputs, outputs, [&](int64_t i, int64_t o) {
            return float(now * double(weight(0, i, o)) + before * double(weight(1, i, o)) + first * double(weight(2, i, o)));
        }, tiles + p * size);
    }
    made.tiles = tiles;
    return made;
}

CausalLayer CausalPackedWeights::shortcut(const GivenBlock& block, bool round) {
    const int64_t inputs = block.first.inputs, outputs = block.second.outputs;
    if (!block.shortcut) return {};
    if (purpose == Purpose::sizes) return {1, inputs, outputs, 1, nullptr, nullptr, nullptr};
    const float* const w = block.shortcut;
    CausalLayer made{1, round ? outputs : inputs, round ? inputs : outputs, 1, nullptr, nullptr, nullptr};
    made.weights = arranged(made.inputs, made.outputs, [&](int64_t i, int64_t o) { return round ? w[i * inputs + o] : w[o * inputs + i]; });
    if (!round) made.bias = padded_bias(block.shortcut_bias, outputs);
    return made;
}

void CausalPackedWeights::roughen(const GivenLayer& layer, const CausalBfloat16& functions) {
    const int64_t inputs = padded(layer.inputs), pairs = layer.taps * inputs / 2, width = padded(layer.outputs);
    const int64_t whole = causal_rough_units(layer.outputs) * causal_unit;
    const auto weight = [&](int64_t k, int64_t i, int64_t o) {
        return i < layer.inputs && o < layer.outputs ? layer.weights[(k * layer.inputs + i) * layer.outputs + o] : 0.0f;
    };
    Numbers even(size_t(pairs * whole)), odd(even.size());
    const auto half = [&](int64_t parity) {
        return [&, parity](int64_t row, int64_t o) { return weight(row / (inputs / 2), 2 * (row % (inputs / 2)) + parity, o); };
    };
    arrange(pairs, whole, half(0), even.data());
    arrange(pairs, whole, half(1), odd.data());
    Numbers both(2 * even.size());
    for (size_t n = 0; n < even.size(); n++) both[2 * n] = even[n], both[2 * n + 1] = odd[n];
    halves.resize(both.size());
    functions.round(both.data(), int64_t(both.size()), halves.data());
    float *const errors = room(width), *const slacks = room(width), *const columns = room(layer.taps * layer.inputs * width);
    // Of every product two roundings to eight digits; of every sum, the rough one and the exact one, one rounding for each of
    // its terms, relative to what has been added up, in which the bias comes first. Σ|x||w| ≤ ‖x‖‖w‖. Numbers too small for
    // bfloat16 are lost: of weights those below 1e-36, of what is seen they are looked for (screen.hpp).
    const double terms = double(layer.taps * inputs + 2), summed = 2 * terms / double(1 << 24), relative = 1.003 / 256 + summed;
    rough = {functions.round, functions.multiply, halves.data(), errors, slacks, 0, columns};
    for (int64_t o = 0; o < layer.outputs; o++) {
        double squares = 0;
        for (int64_t row = 0; row < layer.taps * layer.inputs; row++) {
            const float w = layer.weights[row * layer.outputs + o];
            squares += double(w) * double(w);
            columns[(o / causal_unit * layer.taps * layer.inputs + row) * causal_unit + o % causal_unit] = w;
        }
        errors[o] = float((std::sqrt(squares) * relative + std::sqrt(terms) * 1e-36) * 1.000001);
        slacks[o] = float(summed * std::fabs(double(layer.bias[o])) * 1.000001 + 1e-30);
        rough.largest = std::max(rough.largest, errors[o]);
    }
    stack.rough = &rough;
}

void CausalPackedWeights::turn_last(const GivenBlock& block) {
    const GivenLayer &first = block.first, &second = block.second;
    const int64_t in_width = padded(first.inputs), width = padded(second.inputs);
    turned.last_first = arranged(first.outputs, first.taps * in_width, [&](int64_t o, int64_t column) {
        const int64_t k = column / in_width, i = column % in_width;
        return i < first.inputs ? first.weights[(k * first.inputs + i) * first.outputs + o] : 0.0f;
    });
    float* const rows = room(second.outputs * second.taps * width);
    for (int64_t k = 0; k < second.taps; k++)
        for (int64_t i = 0; i < second.inputs; i++)
            for (int64_t o = 0; o < second.outputs; o++)
                rows[(o * second.taps + k) * width + i] = second.weights[(k * second.inputs + i) * second.outputs + o];
    turned.last_second = rows;
    if (!block.shortcut) return;
    float* const straight = room(second.outputs * in_width);
    for (int64_t o = 0; o < second.outputs; o++)
        std::copy(block.shortcut + o * first.inputs, block.shortcut + (o + 1) * first.inputs, straight + o * in_width);
    turned.last_shortcut = straight;
}

CausalGradientSums::CausalGradientSums(const CausalStack& stack, float* memory) : memory(memory) {
    for (int64_t b = 0; b < stack.count; b++) {
        const CausalBlock& block = stack.blocks[b];
        const bool last = b + 1 == stack.count;
        const auto sums = [&](const CausalLayer& layer, bool turned) {
            const int64_t width = padded(layer.outputs);
            return CausalSums{room(layer.taps * (turned ? layer.outputs * padded(layer.inputs) : layer.inputs * width)),
                              last || !layer.tiles ? nullptr : room(causal_points * layer.inputs * width), room(width)};
        };
        blocks.push_back({sums(block.first, false), sums(block.second, last), {}});
        if (block.shortcut.weights) blocks.back().shortcut = sums(block.shortcut, last);
    }
}

float* CausalGradientSums::room(int64_t count) {
    float* const given = memory + used;
    used += (count + 15) / 16 * 16;
    return given;
}

int64_t CausalGradientSums::size(const CausalStack& stack) {
    float nothing;
    return CausalGradientSums(stack, &nothing).used;
}

void collect(const CausalStack& stack, int64_t b, const std::vector<CausalGradientSums>& added, const BlockGradientOutputs& to) {
    const CausalBlock& block = stack.blocks[b];
    const bool last = b + 1 == stack.count;
    // one group after the other, in double precision
    const auto summed = [&](float* CausalSums::*part, CausalSums CausalBlockSums::*layer, int64_t count) {
        std::vector<double> sum(size_t(count), 0.0);
        for (const CausalGradientSums& one : added) {
            const float* const numbers = one.blocks[size_t(b)].*layer.*part;
            for (int64_t n = 0; n < count; n++) sum[size_t(n)] += double(numbers[n]);
        }
        return sum;
    };
    const auto hand_over = [&](const CausalLayer& layer, CausalSums CausalBlockSums::*of, bool turned, float* weights, float* bias) {
        const int64_t width = padded(layer.outputs), in_width = padded(layer.inputs);
        const int64_t count = layer.taps * (turned ? layer.outputs * in_width : layer.inputs * width);
        const bool by_tiles = (added[0].blocks[size_t(b)].*of).tiles != nullptr;
        const std::vector<double> found = summed(&CausalSums::weights, of, count);
        const std::vector<double> tiles = by_tiles ? summed(&CausalSums::tiles, of, causal_points * layer.inputs * width) : std::vector<double>();
        for (int64_t k = 0; k < layer.taps; k++)
            for (int64_t i = 0; i < layer.inputs; i++)
                for (int64_t o = 0; o < layer.outputs; o++) {
                    double sum = found[size_t(turned ? (o * layer.taps + k) * in_width + i : (k * layer.inputs + i) * width + o)];
                    if (by_tiles)
                        for (int64_t p = 0; p < causal_points; p++)
                            sum += at_point[p][2 - k] * tiles[size_t((p * layer.inputs + i) * width + o)];
                    weights[(k * layer.inputs + i) * layer.outputs + o] = float(sum);
                }
        const std::vector<double> biases = summed(&CausalSums::bias, of, layer.outputs);
        for (int64_t o = 0; o < layer.outputs; o++) bias[o] = float(biases[size_t(o)]);
    };
    hand_over(block.first, &CausalBlockSums::first, false, to.first, to.first_bias);
    hand_over(block.second, &CausalBlockSums::second, last, to.second, to.second_bias);
    if (!block.shortcut.weights) return;
    // (output, input), as it was given
    const int64_t inputs = block.shortcut.inputs, outputs = block.shortcut.outputs, width = padded(outputs), in_width = padded(inputs);
    const std::vector<double> found = summed(&CausalSums::weights, &CausalBlockSums::shortcut, last ? outputs * in_width : inputs * width);
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t i = 0; i < inputs; i++) to.shortcut[o * inputs + i] = float(found[size_t(last ? o * in_width + i : i * width + o)]);
    const std::vector<double> biases = summed(&CausalSums::bias, &CausalBlockSums::shortcut, outputs);
    for (int64_t o = 0; o < outputs; o++) to.shortcut_bias[o] = float(biases[size_t(o)]);
}

}  // namespace timelike
