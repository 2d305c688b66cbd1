// The last convolution and the maximum over time where the processor has products in bfloat16, which are twice as fast.
//
// All steps are computed roughly, with a bound on how wrong that is. Where even the most that a step may reach is less than
// what another reaches at least, the step has no maximum; the few that are left are computed exactly, and with the same
// bits as if all had been. So nothing but time depends on it.
#pragma once
#include "causal/last_block.hpp"

namespace timelike {
namespace {

constexpr float summed_error = 2.5e-7f;  // 2^-22: of the leaky ReLU and of adding the shortcut, both ways
// Squares of what is seen: below the first, numbers may have been lost; above the second, sums might be too large.
constexpr float least_square = 1e-30f, largest_square = 1e30f, largest_error = 1e28f;

struct Candidate {
    U8 most, added;  // what it may reach, and the shortcut
    int32_t step;
};

// Those of one unit of channels, and what some step of each channel reaches at least.
struct Candidates {
    Candidate* list;
    int64_t count, room;
    U8 least;

    // false where there are too many, as of sequences that stay the same
    bool meet(int64_t t, U8 value, U8 error, U8 added) {
        const U8 low = value - error, most = value + error;
        least = low > least ? low : least;
        if (nowhere(most < least)) return true;
        if (count == room) {
            drop();
            if (count > room / 2) return false;
        }
        list[count++] = {most, added, int32_t(t)};
        return true;
    }
    void drop() {
        int64_t left = 0;
        for (int64_t c = 0; c < count; c++)
            if (!nowhere(list[c].most < least)) list[left++] = list[c];
        count = left;
    }
    // whether all channels are out; what is not a number is not
    static bool nowhere(I8 out) { return bits_of(out) == 0xff; }
};

struct Screen {
    uint16_t* rounded;
    float *norms, *gathered, *sums;
    Candidates* units;
    Candidate* lists;
    int64_t room;

    static constexpr int64_t at_once = 64;  // candidates computed together

    static bool serves(const CausalStack& stack, int64_t length) {
        const CausalBlock& block = stack.blocks[stack.count - 1];
        return stack.rough && length >= 2 * rows_at_once && block.second.outputs >= 32 && !out_of_order(block, length);
    }

    Screen(const CausalStack& stack, int64_t length, Memory& memory) {
        if (!serves(stack, length)) return;
        const CausalLayer& layer = stack.blocks[stack.count - 1].second;
        const int64_t width = layer.width();
        room = larger(64, length / 8);
        rounded = reinterpret_cast<uint16_t*>(memory.take(length * width / 2));
        norms = memory.take(length);
        gathered = memory.take(at_once * layer.taps * layer.inputs);
        sums = memory.take(larger(at_once, rows_at_once * causal_rough_units(layer.outputs)) * unit);
        units = reinterpret_cast<Candidates*>(memory.take(width / unit * int64_t(sizeof(Candidates) / sizeof(float))));
        lists = reinterpret_cast<Candidate*>(memory.take(width / unit * room * int64_t(sizeof(Candidate) / sizeof(float))));
    }
};

// ‖h‖ of what the taps see at each step, and the rows rounded. False where numbers are so small or so large that the bounds
// on errors would not hold.
inline bool prepare(const CausalBfloat16& rough, const CausalLayer& layer, const Plane& hidden, const Screen& own) {
    const int64_t width = layer.width(), length = hidden.length;
    rough.round(hidden.first, length * width, own.rounded);
    for (int64_t t = length - 1; t >= 0; t--) {
        U8 squares{};
        I8 any{};
        for (int64_t i = 0; i < width; i += unit) {
            const U8 h = read<U8>(hidden.first + t * width + i);
            squares = fused_unit(h, h, squares);
            any |= h != U8{};
        }
        float sum = 0;
        for (int l = 0; l < 8; l++) sum += squares[l];
        own.norms[t] = sum;
        if (!(sum <= largest_square) || (sum < least_square && bits_of(any))) return false;
    }
    for (int64_t t = length - 1; t >= 0; t--) {
        float sum = 0;
        for (int64_t k = 0, s = t; k < layer.taps && s >= 0; k++, s -= layer.dilation) sum += own.norms[s];
        own.norms[t] = 1.00001f * __builtin_sqrtf(sum);
        if (!(own.norms[t] * rough.largest <= largest_error)) return false;
    }
    return true;
}

// The steps of one unit that are left, exactly.
inline void decide(const CausalLayer& layer, const CausalBfloat16& rough, const Plane& hidden, float slope, int64_t u, Candidates& of,
                   const Screen& own, const Greatest& greatest) {
    of.drop();
    const int64_t reached = smaller(layer.taps, (hidden.length - 1) / layer.dilation + 1), all = reached * layer.inputs;
    for (int64_t c = 0; c < of.count; c += Screen::at_once) {
        const int64_t count = smaller(Screen::at_once, of.count - c);
        for (int64_t r = 0; r < count; r++)
            for (int64_t k = 0; k < reached; k++)
                __builtin_memcpy(own.gathered + r * all + k * layer.inputs, hidden.row(of.list[c + r].step - k * layer.dilation),
                                 size_t(layer.inputs) * sizeof(float));
        multiply({own.gathered, all, 0, 1, all}, 1, rough.columns + u * unit * layer.taps * layer.inputs, layer.bias + u * unit, 1, count,
                 own.sums, unit);
        for (int64_t r = 0; r < count; r++) {
            const U8 sums = read<U8>(own.sums + r * unit);
            greatest.meet(of.list[c + r].step, u, sums, leaky(sums, slope) + of.list[c + r].added);
        }
    }
}

// Whether the maxima were found; not where too many steps come into question.
inline bool screened_maxima(const CausalStack& stack, const Plane& in, const Plane& hidden, const LastForward& last, const Screen& own,
                            const volatile bool* stop) {
    const CausalBlock& block = stack.blocks[stack.count - 1];
    const CausalLayer& layer = block.second;
    const CausalBfloat16& rough = *stack.rough;
    const int64_t width = layer.width(), units = width / unit, length = hidden.length, last_tap = (layer.taps - 1) * layer.dilation;
    const int64_t rough_width = causal_rough_units(layer.outputs) * unit;
    if (!prepare(rough, layer, hidden, own)) return false;
    Candidates* const all = own.units;
    for (int64_t u = 0; u < units; u++) {
        all[u] = {own.lists + u * own.room, 0, own.room, everywhere<U8>(-infinity<float>)};
        // no step comes into question for what only pads the channels
        for (int l = 0; l < unit; l++)
            if (u * unit + l >= layer.outputs) all[u].least[l] = infinity<float>;
    }
    for (int64_t t = 0; t < length && !*stop;) {
        const int64_t taps = t >= last_tap ? layer.taps : t / layer.dilation + 1, same = t >= last_tap ? length - t : taps * layer.dilation - t;
        const int64_t count = smaller(rows_at_once, smaller(same, length - t));
        const float* const added = shortcut_rows(block.shortcut, in, t, count, last.added);
        const int64_t stride = block.shortcut.weights ? width : in.stride;
        rough.multiply(own.rounded + t * width, width, -layer.dilation * width, taps, layer.taps, width, rough.matrix, layer.bias, rough_width / unit,
                       count, own.sums, rough_width);
        for (int64_t u = 0; u < units; u++) {
            const U8 errors = read<U8>(rough.errors + u * unit), slacks = read<U8>(rough.slacks + u * unit);
            Candidates own_unit = all[u];  // in registers meanwhile
            for (int64_t r = 0; r < count; r++) {
                const U8 shortcut = read<U8>(added + r * stride + u * unit);
                const U8 inner = leaky(read<U8>(own.sums + r * rough_width + u * unit), stack.slope), value = inner + shortcut;
                const U8 error = times(own.norms[t + r], errors, times(summed_error, magnitude(inner) + magnitude(shortcut), slacks));
                if (!own_unit.meet(t + r, value, error, shortcut)) return false;
            }
            all[u] = own_unit;
        }
        t += count;
    }
    last.greatest.clear(width);
    for (int64_t u = 0; u < units; u++) decide(layer, rough, hidden, stack.slope, u, all[u], own, last.greatest);
    return true;
}

}  // namespace
}  // namespace timelike
