// Matrices in panels, at the points, turned round; and gradients at the points back to taps.
#include "causal/packed.hpp"

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

CausalPacked::CausalPacked(const CausalTable& kernels, const std::vector<GivenBlock>& given, int64_t channels, float slope, bool gradients)
    : kernels(kernels) {
    const size_t last = given.size() - 1;
    for (size_t b = 0; b < given.size(); b++) {
        const GivenBlock& block = given[b];
        const int64_t dilation = int64_t(1) << b, inputs = block.first.inputs, outputs = block.second.outputs;
        const GivenLayer shortcut{block.shortcut, block.shortcut_bias, 1, inputs, outputs};
        const auto turned_shortcut = [&](bool round) {
            if (!block.shortcut) return CausalLayer{};
            std::vector<double> matrix;
            for (int64_t r = 0; r < (round ? outputs : inputs); r++)
                for (int64_t c = 0; c < (round ? inputs : outputs); c++)
                    matrix.push_back(block.shortcut[round ? r * inputs + c : c * inputs + r]);
            CausalLayer made{1, round ? outputs : inputs, round ? inputs : outputs, 1, nullptr, nullptr, nullptr};
            made.weights = arranged(made.inputs, made.outputs, matrix);
            if (!round) {
                memory.emplace_back(block.shortcut_bias, block.shortcut_bias + outputs);
                memory.back().resize(size_t(padded(outputs)));
                made.bias = memory.back().data();
            }
            return made;
        };
        forwards.push_back({layer(block.first, dilation, false), layer(block.second, dilation, false), turned_shortcut(false)});
        if (gradients && b < last)
            backwards.push_back({layer(block.first, dilation, true), layer(block.second, dilation, true), turned_shortcut(true)});
    }
    stack = {channels, int64_t(given.size()), forwards.data(), slope};
    turned = {backwards.data(), nullptr, nullptr, nullptr};
    if (!gradients) return;
    const GivenBlock& block = given[last];
    const GivenLayer &first = block.first, &second = block.second;
    const int64_t in_width = padded(first.inputs), width = padded(second.inputs);
    std::vector<double> by_taps(size_t(first.outputs * first.taps * in_width));
    for (int64_t o = 0; o < first.outputs; o++)
        for (int64_t k = 0; k < first.taps; k++)
            for (int64_t i = 0; i < first.inputs; i++)
                by_taps[size_t((o * first.taps + k) * in_width + i)] = first.weights[(k * first.inputs + i) * first.outputs + o];
    turned.last_first = arranged(first.outputs, first.taps * in_width, by_taps);
    Numbers rows(size_t(second.outputs * second.taps * width));
    for (int64_t o = 0; o < second.outputs; o++)
        for (int64_t k = 0; k < second.taps; k++)
            for (int64_t i = 0; i < second.inputs; i++)
                rows[size_t((o * second.taps + k) * width + i)] = second.weights[(k * second.inputs + i) * second.outputs + o];
    memory.push_back(std::move(rows));
    turned.last_second = memory.back().data();
    if (!block.shortcut) return;
    Numbers straight(size_t(second.outputs * in_width));
    for (int64_t o = 0; o < second.outputs; o++)
        for (int64_t i = 0; i < first.inputs; i++) straight[size_t(o * in_width + i)] = block.shortcut[o * first.inputs + i];
    memory.push_back(std::move(straight));
    turned.last_shortcut = memory.back().data();
}

const float* CausalPacked::arranged(int64_t rows, int64_t outputs, const std::vector<double>& matrix) {
    const int64_t units = causal_units(outputs);
    Numbers panels;
    panels.reserve(size_t(rows * units * causal_unit));
    for (int64_t u = 0; u < units;) {
        const int64_t width = kernels.panel(units, u);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t o = u * causal_unit; o < (u + width) * causal_unit; o++)
                panels.push_back(o < outputs ? float(matrix[size_t(r * outputs + o)]) : 0.0f);
        u += width;
    }
    memory.push_back(std::move(panels));
    return memory.back().data();
}

CausalLayer CausalPacked::layer(const GivenLayer& given, int64_t dilation, bool round) {
    const int64_t inputs = round ? given.outputs : given.inputs, outputs = round ? given.inputs : given.outputs;
    const auto weight = [&](int64_t k, int64_t i, int64_t o) {
        return double(given.weights[(k * given.inputs + (round ? o : i)) * given.outputs + (round ? i : o)]);
    };
    std::vector<double> matrix;
    for (int64_t k = 0; k < given.taps; k++)
        for (int64_t i = 0; i < inputs; i++)
            for (int64_t o = 0; o < outputs; o++) matrix.push_back(weight(k, i, o));
    CausalLayer made{given.taps, inputs, outputs, dilation, arranged(given.taps * inputs, outputs, matrix), nullptr, nullptr};
    if (!round) {
        memory.emplace_back(given.bias, given.bias + outputs);
        memory.back().resize(size_t(padded(outputs)));
        made.bias = memory.back().data();
    }
    if (given.taps != 3 || given.inputs < few || given.outputs < few) return made;
    Numbers all;
    for (const double* factors : at_point) {
        matrix.clear();
        for (int64_t i = 0; i < inputs; i++)
            for (int64_t o = 0; o < outputs; o++) {
                double sum = 0;
                // taps count into the past, polynomials forwards
                for (int64_t q = 0; q < 3; q++) sum += factors[q] * weight(round ? q : 2 - q, i, o);
                matrix.push_back(sum);
            }
        const float* const panels = arranged(inputs, outputs, matrix);
        all.insert(all.end(), panels, panels + inputs * padded(outputs));
        memory.pop_back();
    }
    memory.push_back(std::move(all));
    made.tiles = memory.back().data();
    return made;
}

CausalAdded::CausalAdded(const CausalStack& stack) : blocks(size_t(stack.count)) {
    // counted first, so that the addresses do not move
    for (int pass = 0; pass < 2; pass++) {
        size_t used = 0;
        const auto room = [&](int64_t count) {
            float* const given = numbers.data() + used;
            used += size_t((count + 15) / 16 * 16);
            return given;
        };
        for (int64_t b = 0; b < stack.count; b++) {
            const CausalBlock& block = stack.blocks[b];
            const bool last = b + 1 == stack.count;
            const auto sums = [&](const CausalLayer& layer, bool turned) {
                const int64_t width = padded(layer.outputs);
                return CausalSums{room(layer.taps * (turned ? layer.outputs * padded(layer.inputs) : layer.inputs * width)),
                                  last || !layer.tiles ? nullptr : room(causal_points * layer.inputs * width), room(width)};
            };
            blocks[size_t(b)].first = sums(block.first, false);
            blocks[size_t(b)].second = sums(block.second, last);
            if (block.shortcut.weights) blocks[size_t(b)].shortcut = sums(block.shortcut, last);
        }
        if (pass == 0) numbers.assign(used, 0.0f);
    }
}

void collect(const CausalStack& stack, std::vector<CausalAdded>& added, const std::vector<WantedBlock>& wanted) {
    std::vector<double> sum(added[0].numbers.begin(), added[0].numbers.end());
    for (size_t a = 1; a < added.size(); a++)
        for (size_t n = 0; n < sum.size(); n++) sum[n] += double(added[a].numbers[n]);
    const auto of = [&](const float* place) { return sum.data() + (place - added[0].numbers.data()); };
    for (int64_t b = 0; b < stack.count; b++) {
        const CausalBlock& block = stack.blocks[b];
        const CausalBlockSums& sums = added[0].blocks[size_t(b)];
        const bool last = b + 1 == stack.count;
        const auto hand_over = [&](const CausalLayer& layer, const CausalSums& from, bool turned, float* weights, float* bias) {
            const int64_t width = padded(layer.outputs), in_width = padded(layer.inputs);
            for (int64_t k = 0; k < layer.taps; k++)
                for (int64_t i = 0; i < layer.inputs; i++)
                    for (int64_t o = 0; o < layer.outputs; o++) {
                        const int64_t place = turned ? (o * layer.taps + k) * in_width + i : (k * layer.inputs + i) * width + o;
                        double found = of(from.weights)[place];
                        if (from.tiles)
                            for (int64_t p = 0; p < causal_points; p++)
                                found += at_point[p][2 - k] * of(from.tiles)[(p * layer.inputs + i) * width + o];
                        weights[(k * layer.inputs + i) * layer.outputs + o] = float(found);
                    }
            for (int64_t o = 0; o < layer.outputs; o++) bias[o] = float(of(from.bias)[o]);
        };
        const WantedBlock& to = wanted[size_t(b)];
        hand_over(block.first, sums.first, false, to.first, to.first_bias);
        hand_over(block.second, sums.second, last, to.second, to.second_bias);
        if (!block.shortcut.weights) continue;
        // (output, input), as it was given
        const int64_t inputs = block.shortcut.inputs, outputs = block.shortcut.outputs, width = padded(outputs), in_width = padded(inputs);
        for (int64_t o = 0; o < outputs; o++)
            for (int64_t i = 0; i < inputs; i++)
                to.shortcut[o * inputs + i] = float(of(sums.shortcut.weights)[last ? o * in_width + i : i * width + o]);
        for (int64_t o = 0; o < outputs; o++) to.shortcut_bias[o] = float(of(sums.shortcut.bias)[o]);
    }
}

}  // namespace timelike
