// The last block and the maximum over time. The maximum makes its gradients sparse: of all steps and channels only one
// step of each channel has one, so that the largest matrices of the network meet few rows on the backward pass.
#pragma once
#include "causal/layers.hpp"

namespace timelike {
namespace {

// Hands out scratch memory, or only counts it.
struct Memory {
    float* memory;
    int64_t used = 0;

    float* take(int64_t count) {
        float* const given = memory ? memory + used : nullptr;
        used += (count + 15) / 16 * 16;  // whole lines of the cache
        return given;
    }
};

// The greatest of every channel so far, and where: twice the step, plus one where the sums of the taps are positive.
struct Greatest {
    float* values;
    int32_t* where;

    void clear(int64_t width) const {
        for (int64_t c = 0; c < width; c++) values[c] = -infinity<float>, where[c] = 0;
    }
    void meet(int64_t t, int64_t u, U8 sums, U8 value) const {
        const U8 best = read<U8>(values + u * unit);
        I8 at;
        __builtin_memcpy(&at, where + u * unit, sizeof at);
        const I8 code = int32_t(2 * t) - (sums > U8{});
        // of equal ones the first, in whatever order they come; what is not a number stays
        const I8 better = (value > best) | ((value == best) & (code < at)) | ((value != value) & (best == best));
        write(values + u * unit, better ? value : best);
        at = better ? code : at;
        __builtin_memcpy(where + u * unit, &at, sizeof at);
    }
};

// Rows of the shortcut: what is added to the convolutions of a block.
inline const float* shortcut_rows(const CausalLayer& shortcut, const Plane& in, int64_t t, int64_t count, float* into) {
    if (!shortcut.weights) return in.first + t * in.stride;
    multiply({in.first + t * in.stride, in.stride, 0, 1, shortcut.inputs}, 1, shortcut.weights, shortcut.bias, causal_units(shortcut.outputs),
             count, into, shortcut.width());
    return into;
}

// Whether the second convolution comes to its steps in other order than theirs, so that all of the shortcut must be there.
inline bool out_of_order(const CausalBlock& block, int64_t length) {
    return block.second.tiles && by_tiles(block.second.taps, block.second.dilation, length);
}

struct LastForward {
    float *hidden, *added, *workspace;
    Greatest greatest;

    LastForward(const CausalBlock& block, int64_t length, Memory& memory) {
        const int64_t width = block.second.width(), together = out_of_order(block, length) ? length : rows_at_once;
        hidden = memory.take(length * width);
        added = memory.take(smaller(together, length) * width);
        workspace = memory.take(larger(workspace_size(block.first.inputs, width), workspace_size(width, width)));
        greatest = {memory.take(width), reinterpret_cast<int32_t*>(memory.take(width))};
    }
};

inline Plane last_hidden(const CausalBlock& block, const Plane& in, float slope, const LastForward& own, const volatile bool* stop) {
    const int64_t width = block.first.width();
    convolve(block.first, Towards::past, in, own.workspace, stop,
             [&](int64_t t, int64_t u, U8 sums) { write(own.hidden + t * width + u * unit, leaky(sums, slope)); });
    return {own.hidden, width, in.length, in.zeros};
}

// The second convolution, the shortcut and the maximum, every step of them.
inline void last_maxima(const CausalBlock& block, const Plane& in, const Plane& hidden, float slope, const LastForward& own,
                        const volatile bool* stop) {
    const int64_t width = block.second.width(), length = in.length, together = out_of_order(block, length) ? length : rows_at_once;
    const int64_t stride = block.shortcut.weights ? width : in.stride;
    own.greatest.clear(width);
    int64_t begin = 0, end = 0;  // the steps whose shortcut is known
    const float* added = nullptr;
    convolve(block.second, Towards::past, hidden, own.workspace, stop, [&](int64_t t, int64_t u, U8 sums) {
        if (t >= end) {
            begin = together == length ? 0 : t, end = smaller(length, begin + together);
            added = shortcut_rows(block.shortcut, in, begin, end - begin, own.added);
        }
        own.greatest.meet(t, u, sums, leaky(sums, slope) + read<U8>(added + (t - begin) * stride + u * unit));
    });
}

// --- gradients

// The steps of the hidden layer that some maximum depends on, in their order.
struct RequiredSteps {
    int32_t *slots, *times;  // (step): its place among them or -1; (place)
    int64_t count;
};

inline void find_steps(const CausalLayer& layer, const int64_t* where, int64_t length, RequiredSteps& steps) {
    for (int64_t t = 0; t < length; t++) steps.slots[t] = -1;
    for (int64_t o = 0; o < layer.outputs; o++)
        for (int64_t k = 0, t = where[o] / 2; k < layer.taps && t >= 0; k++, t -= layer.dilation) steps.slots[t] = 0;
    steps.count = 0;
    for (int64_t t = 0; t < length; t++)
        if (steps.slots[t] == 0) steps.times[steps.count] = int32_t(t), steps.slots[t] = int32_t(steps.count++);
}

inline void add_times(float factor, const float* row, int64_t width, float* into) {
    for (int64_t i = 0; i < width; i += unit) write(into + i, times(factor, read<U8>(row + i), read<U8>(into + i)));
}

struct LastBackward {
    RequiredSteps steps;
    float *seen, *hidden, *gradients, *to_seen;

    LastBackward(const CausalBlock& block, int64_t length, Memory& memory) {
        const int64_t width = block.second.width(), most = smaller(length, block.second.taps * block.second.outputs);
        steps = {reinterpret_cast<int32_t*>(memory.take(length)), reinterpret_cast<int32_t*>(memory.take(most)), 0};
        seen = memory.take(most * block.first.taps * block.first.inputs);
        hidden = memory.take(most * width);
        gradients = memory.take(most * width);
        to_seen = memory.take(most * block.first.taps * causal_units(block.first.inputs) * unit);
    }
};

// What the first convolution sees at those steps, and what it makes of it, again.
inline void see_again(const CausalLayer& layer, const Plane& in, float slope, const LastBackward& own) {
    const int64_t all = layer.taps * layer.inputs, width = layer.width();
    for (int64_t s = 0; s < own.steps.count; s++)
        for (int64_t k = 0; k < layer.taps; k++)
            __builtin_memcpy(own.seen + s * all + k * layer.inputs, in.row(own.steps.times[s] - k * layer.dilation),
                             size_t(layer.inputs) * sizeof(float));
    multiply({own.seen, all, 0, 1, all}, 1, layer.weights, layer.bias, width / unit, own.steps.count, own.hidden, width);
    for (int64_t j = 0; j < own.steps.count * width; j += unit) write(own.hidden + j, leaky(read<U8>(own.hidden + j), slope));
}

// Through the maximum, the shortcut and the second convolution: channel by channel, each at its one step.
inline void through_second(const CausalBlock& block, const CausalTransposed& turned, const Plane& in, float slope, const int64_t* where,
                           const float* gradient, const CausalBlockSums& sums, const LastBackward& own, float* to_in) {
    const CausalLayer& layer = block.second;
    const int64_t width = layer.width(), in_width = causal_units(block.first.inputs) * unit;
    for (int64_t j = 0; j < own.steps.count * width; j++) own.gradients[j] = 0;
    for (int64_t o = 0; o < layer.outputs; o++) {
        const int64_t t = where[o] / 2;
        const float whole = gradient[o], inner = where[o] % 2 ? whole : slope * whole;
        if (block.shortcut.weights) {
            sums.shortcut.bias[o] += whole;
            add_times(whole, in.row(t), in_width, sums.shortcut.weights + o * in_width);
            if (to_in) add_times(whole, turned.last_shortcut + o * in_width, in_width, to_in + t * in_width);
        } else if (to_in) {
            to_in[t * in_width + o] += whole;
        }
        sums.second.bias[o] += inner;
        for (int64_t k = 0; k < layer.taps && t - k * layer.dilation >= 0; k++) {
            const int64_t slot = own.steps.slots[t - k * layer.dilation] * width, place = (o * layer.taps + k) * width;
            add_times(inner, own.hidden + slot, width, sums.second.weights + place);
            add_times(inner, turned.last_second + place, width, own.gradients + slot);
        }
    }
}

// Through the first convolution, over the steps that have a gradient.
inline void through_first(const CausalBlock& block, const CausalTransposed& turned, float slope, const CausalBlockSums& sums,
                          const LastBackward& own, float* to_in) {
    const CausalLayer& layer = block.first;
    const int64_t width = layer.width(), all = layer.taps * layer.inputs, in_width = causal_units(layer.inputs) * unit;
    for (int64_t j = 0; j < own.steps.count * width; j += unit) {
        const U8 g = read<U8>(own.gradients + j);
        write(own.gradients + j, read<U8>(own.hidden + j) > U8{} ? g : slope * g);
    }
    add_rows(own.gradients, width, own.steps.count, width / unit, sums.first.bias);
    for (int64_t s = 0; s < own.steps.count; s += 2 * rows_at_once)
        outer(own.seen + s * all, all, all, own.gradients + s * width, width, width / unit, smaller(2 * rows_at_once, own.steps.count - s),
              sums.first.weights);
    if (!to_in) return;
    multiply({own.gradients, width, 0, 1, layer.outputs}, 1, turned.last_first, nullptr, layer.taps * in_width / unit, own.steps.count,
             own.to_seen, layer.taps * in_width);
    for (int64_t s = 0; s < own.steps.count; s++)
        for (int64_t k = 0, t = own.steps.times[s]; k < layer.taps && t >= 0; k++, t -= layer.dilation)
            add_times(1, own.to_seen + (s * layer.taps + k) * in_width, in_width, to_in + t * in_width);
}

}  // namespace
}  // namespace timelike
