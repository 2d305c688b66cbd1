// The passes of causal/table.hpp over one sequence, compiled once per instruction set.
#include "causal/screen.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

// What the gradients need of every block but the last: both its activations, and which sums before the second leaky ReLU
// are positive (what comes after has the shortcut added and does not tell).
struct SavedActivations {
    float *hidden, *output;
    uint8_t* signs;

    SavedActivations(const CausalBlock& block, int64_t length, Memory& memory) {
        const int64_t width = block.second.width();
        hidden = memory.take(length * width), output = memory.take(length * width);
        signs = reinterpret_cast<uint8_t*>(memory.take((length * width / unit + 3) / 4));
    }
};

int64_t widest(const CausalStack& stack) {
    int64_t width = causal_units(stack.channels) * unit;
    for (int64_t b = 0; b + 1 < stack.count; b++) width = larger(width, stack.blocks[b].second.width());
    return width;
}

// The largest workspace that a convolution of the blocks but the last needs, forwards or backwards.
int64_t inner_workspace_size(const CausalStack& stack) {
    return workspace_size(widest(stack), widest(stack));
}

// The sequence itself with rows padded to units.
Plane padded(const CausalStack& stack, const float* x, int64_t length, float* into, const float* zeros) {
    const int64_t channels = stack.channels, width = causal_units(channels) * unit;
    for (int64_t t = 0; t < length; t++) {
        for (int64_t c = 0; c < channels; c++) into[t * width + c] = x[t * channels + c];
        for (int64_t c = channels; c < width; c++) into[t * width + c] = 0;
    }
    return {into, width, length, zeros};
}

struct Forward {
    float *input, *hidden, *outputs[2], *added, *workspace, *zeros;
    LastForward last;
    Screen screen;

    Forward(const CausalStack& stack, int64_t length, Memory& memory)
        : input(memory.take(length * causal_units(stack.channels) * unit)),
          hidden(memory.take(length * widest(stack))),
          outputs{memory.take(length * widest(stack)), memory.take(length * widest(stack))},
          added(memory.take(length * widest(stack))),
          workspace(memory.take(inner_workspace_size(stack))),
          zeros(memory.take(larger(widest(stack), stack.blocks[stack.count - 1].second.width()))),
          last(stack.blocks[stack.count - 1], length, memory),
          screen(stack, length, memory) {}
};

void forward(const CausalStack& stack, const float* x, int64_t length, float* out, int64_t* where, float* keep, float* scratch,
             const volatile bool* stop) {
    Memory memory{scratch}, kept{keep};
    const Forward own(stack, length, memory);
    for (int64_t c = 0; c < larger(widest(stack), stack.blocks[stack.count - 1].second.width()); c++) own.zeros[c] = 0;
    Plane in = padded(stack, x, length, own.input, own.zeros);
    const float slope = stack.slope;
    for (int64_t b = 0; b + 1 < stack.count && !*stop; b++) {
        const CausalBlock& block = stack.blocks[b];
        const SavedActivations room(block, length, kept);
        const int64_t width = block.second.width(), units = width / unit;
        float *const hidden = keep ? room.hidden : own.hidden, *const output = keep ? room.output : own.outputs[b % 2];
        uint8_t* const signs = keep ? room.signs : nullptr;
        convolve(block.first, Towards::past, in, own.workspace, stop,
                 [&](int64_t t, int64_t u, U8 sums) { write(hidden + t * width + u * unit, leaky(sums, slope)); });
        const float* const added = shortcut_rows(block.shortcut, in, 0, length, own.added);
        convolve(block.second, Towards::past, {hidden, width, length, own.zeros}, own.workspace, stop, [&](int64_t t, int64_t u, U8 sums) {
            const int64_t at = t * width + u * unit;
            write(output + at, leaky(sums, slope) + read<U8>(added + at));
            if (signs) signs[t * units + u] = positives(sums);
        });
        in = {output, width, length, own.zeros};
    }
    const CausalBlock& last = stack.blocks[stack.count - 1];
    const Plane hidden = last_hidden(last, in, slope, own.last, stop);
    if (!Screen::serves(stack, length) || !screened_maxima(stack, in, hidden, own.last, own.screen, stop))
        last_maxima(last, in, hidden, slope, own.last, stop);
    for (int64_t c = 0; c < last.second.outputs; c++) out[c] = own.last.greatest.values[c], where[c] = own.last.greatest.where[c];
}

struct Backward {
    float *input, *gradient, *outer, *inner, *workspace, *zeros;
    LastBackward last;

    Backward(const CausalStack& stack, int64_t length, Memory& memory)
        : input(memory.take(length * causal_units(stack.channels) * unit)),
          gradient(memory.take(length * widest(stack))),
          outer(memory.take(length * widest(stack))),
          inner(memory.take(length * widest(stack))),
          workspace(memory.take(inner_workspace_size(stack))),
          zeros(memory.take(widest(stack))),
          last(stack.blocks[stack.count - 1], length, memory) {}
};

// From gradients of a block's output, in `own.gradient`, those of its weights; into `own.inner` those of the first sums.
void block_gradients(const CausalBlock& block, const CausalBlock& turned, const SavedActivations& kept, const Plane& in, float slope,
                     const CausalBlockSums& sums, const Backward& own, const volatile bool* stop) {
    const int64_t width = block.second.width(), units = width / unit, length = in.length;
    for (int64_t t = 0; t < length; t++)
        for (int64_t u = 0; u < units; u++) {
            const U8 g = read<U8>(own.gradient + t * width + u * unit);
            write(own.outer + t * width + u * unit, where_positive(kept.signs[t * units + u], g, slope * g));
        }
    const Plane outer{own.outer, width, length, own.zeros}, inner{own.inner, width, length, own.zeros};
    add_rows(own.outer, width, length, units, sums.second.bias);
    add_gradients(block.second, {kept.hidden, width, length, own.zeros}, outer, sums.second, own.workspace, stop);
    convolve(turned.second, Towards::future, outer, own.workspace, stop, [&](int64_t t, int64_t u, U8 g) {
        const int64_t at = t * width + u * unit;
        write(own.inner + at, read<U8>(kept.hidden + at) > U8{} ? g : slope * g);
    });
    add_rows(own.inner, width, length, units, sums.first.bias);
    add_gradients(block.first, in, inner, sums.first, own.workspace, stop);
    if (!block.shortcut.weights) return;
    const Plane whole{own.gradient, width, length, own.zeros};
    add_rows(own.gradient, width, length, units, sums.shortcut.bias);
    add_gradients(block.shortcut, in, whole, sums.shortcut, own.workspace, stop);
}

// Gradients of the input of a block, from those of its first sums and its output; into `to`, rows of `stride` numbers,
// `channels` of them.
void input_gradients(const CausalBlock& block, const CausalBlock& turned, const Backward& own, int64_t length, float* to, int64_t stride,
                     int64_t channels, const volatile bool* stop) {
    const int64_t width = block.second.width(), in_width = causal_units(block.first.inputs) * unit;
    const float* added = own.gradient;
    if (block.shortcut.weights) {
        multiply({own.gradient, width, 0, 1, block.second.outputs}, 1, turned.shortcut.weights, nullptr, in_width / unit, length, own.outer,
                 in_width);
        added = own.outer;
    }
    convolve(turned.first, Towards::future, {own.inner, width, length, own.zeros}, own.workspace, stop, [&](int64_t t, int64_t u, U8 g) {
        const U8 found = g + read<U8>(added + t * in_width + u * unit);
        if (channels - u * unit >= unit) {
            write(to + t * stride + u * unit, found);
            return;
        }
        for (int64_t c = u * unit; c < channels; c++) to[t * stride + c] = found[int(c - u * unit)];
    });
}

void backward(const CausalStack& stack, const CausalTransposed& turned, const float* x, int64_t length, const int64_t* where,
              const float* gradient, const float* keep, const CausalBlockSums* sums, float* to_x, float* scratch, const volatile bool* stop) {
    Memory memory{scratch};
    Backward own(stack, length, memory);
    for (int64_t c = 0; c < widest(stack); c++) own.zeros[c] = 0;
    const Plane sequence = padded(stack, x, length, own.input, own.zeros);
    const int64_t last = stack.count - 1, in_width = causal_units(stack.blocks[last].first.inputs) * unit;
    const auto kept = [&](int64_t b) {
        Memory room{const_cast<float*>(keep)};
        for (int64_t j = 0; j < b; j++) SavedActivations(stack.blocks[j], length, room);
        return SavedActivations(stack.blocks[b], length, room);
    };
    const auto input_of = [&](int64_t b) {
        return b ? Plane{kept(b - 1).output, stack.blocks[b - 1].second.width(), length, own.zeros} : sequence;
    };
    float* const to_in = last || to_x ? own.gradient : nullptr;
    if (to_in)
        for (int64_t j = 0; j < length * in_width; j++) to_in[j] = 0;
    const CausalBlock& block = stack.blocks[last];
    find_steps(block.second, where, length, own.last.steps);
    see_again(block.first, input_of(last), stack.slope, own.last);
    through_second(block, turned, input_of(last), stack.slope, where, gradient, sums[last], own.last, to_in);
    through_first(block, turned, stack.slope, sums[last], own.last, to_in);
    for (int64_t b = last - 1; b >= 0 && !*stop; b--) {
        const CausalBlock &own_block = stack.blocks[b], &back = turned.blocks[b];
        block_gradients(own_block, back, kept(b), input_of(b), stack.slope, sums[b], own, stop);
        const int64_t width = causal_units(own_block.first.inputs) * unit;
        if (b) input_gradients(own_block, back, own, length, own.gradient, width, width, stop);
        else if (to_x) input_gradients(own_block, back, own, length, to_x, stack.channels, stack.channels, stop);
    }
    if (!last && to_x)
        for (int64_t t = 0; t < length; t++)
            for (int64_t c = 0; c < stack.channels; c++) to_x[t * stack.channels + c] = own.gradient[t * in_width + c];
}

int64_t scratch(const CausalStack& stack, int64_t length, bool gradients) {
    Memory forwards{nullptr}, backwards{nullptr};
    Forward(stack, length, forwards);
    if (!gradients) return forwards.used;
    Backward(stack, length, backwards);
    return larger(forwards.used, backwards.used);
}

int64_t kept(const CausalStack& stack, int64_t length) {
    Memory memory{nullptr};
    for (int64_t b = 0; b + 1 < stack.count; b++) SavedActivations(stack.blocks[b], length, memory);
    return memory.used;
}

}  // namespace

extern const CausalTable causal_table;
const CausalTable causal_table = {panel_units, scratch, kept, forward, backward};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
