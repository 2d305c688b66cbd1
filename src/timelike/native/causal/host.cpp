// Causal networks over many sequences: threads, scratch memory, what is kept for the gradients, and Python's side of it.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "causal/packed_weights.hpp"
#include "machine/host.hpp"
#include "machine/memory.hpp"
#include "machine/pool.hpp"
#include "machine/scratch_buffer.hpp"

namespace timelike {
namespace {

const CausalTable* const built[] = TIMELIKE_TABLES(causal_table);

constexpr int64_t least_together = 512, most_groups = 16;  // steps, and groups, whose gradients are summed apart

// Products in bfloat16, if the processor and the instruction set that is meant have them.
const CausalBfloat16* rough_for(const Isa& isa) {
#if defined(TIMELIKE_HAS_bfloat16)
    if (place_of(isa) == place_of("v4") && has_bfloat16()) return &causal_rough;
#else
    (void)isa;
#endif
    return nullptr;
}

std::vector<Buffer<float>> make_workspaces(int64_t size, int threads) {
    std::vector<Buffer<float>> all;
    for (int w = 0; w < std::max(1, threads); w++) all.push_back(buffer<float>(size));
    return all;
}

// The longest first: threads end at about the same time. No answer depends on it.
std::vector<int64_t> longest_first(const PackedSequences<float>& x) {
    std::vector<int64_t> order(size_t(x.count), 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return x.lengths[a] > x.lengths[b]; });
    return order;
}

// For any of the sequences: a shorter one may go another way and need more than the longest.
int64_t most_scratch(const CausalTable& kernels, const CausalStack& stack, const PackedSequences<float>& x, bool gradients) {
    int64_t most = 0;
    for (int64_t item = 0; item < x.count; item++) most = std::max(most, kernels.scratch(stack, x.lengths[item], gradients));
    return most;
}

const float* steps_of(const PackedSequences<float>& x, int64_t item) { return x.values + x.starts[item] * x.channels; }

// `keep_at` is where each sequence's activations are kept in `keep`, negative for those that are made again.
struct ActivationStore {
    float* keep;
    const int64_t* at;

    float* of(int64_t item) const { return keep && at[item] >= 0 ? keep + at[item] : nullptr; }
};

void forward(const CausalTable& kernels, const CausalStack& stack, const PackedSequences<float>& x, const ActivationStore& kept, float* out,
             int64_t* where, int threads, const Poll& poll) {
    const int64_t outputs = stack.blocks[stack.count - 1].second.outputs;
    const std::vector<Buffer<float>> all = make_workspaces(most_scratch(kernels, stack, x, false), threads);
    const std::vector<int64_t> order = longest_first(x);
    volatile bool stop = false;
    const auto work = [&](int64_t task, int worker) {
        const int64_t item = order[size_t(task)];
        kernels.forward(stack, steps_of(x, item), x.lengths[item], out + item * outputs, where + item * outputs, kept.of(item),
                        all[size_t(worker)].get(), &stop);
    };
    run_tasks(x.count, threads, work, [&](int64_t done) { return poll(done, x.count); }, &stop);
}

// Groups of sequences, the same for any number of threads: the gradients of each are summed apart, and then in turn.
std::vector<std::vector<int64_t>> grouped(const PackedSequences<float>& x) {
    const int64_t steps = std::accumulate(x.lengths, x.lengths + x.count, int64_t(0));
    // in twos, so that two threads have as much to do
    const int64_t wanted = std::min(most_groups, (steps / least_together + 1) / 2 * 2);
    const int64_t together = wanted ? (steps + wanted - 1) / wanted : steps;
    std::vector<std::vector<int64_t>> groups;
    int64_t begun = 0;  // steps of all groups so far
    for (const int64_t item : longest_first(x)) {
        if (begun >= together * int64_t(groups.size())) groups.emplace_back();
        groups.back().push_back(item), begun += x.lengths[item];
    }
    if (groups.empty()) groups.emplace_back();  // gradients of nothing are zeros
    return groups;
}

void backward(const CausalTable& kernels, const CausalPackedWeights& packed, const PackedSequences<float>& x, const int64_t* where, const float* gradient,
              const ActivationStore& kept, float* to_x, const std::vector<BlockGradientOutputs>& wanted, int threads, const Poll& poll) {
    const CausalStack& stack = packed.stack;
    const int64_t outputs = stack.blocks[stack.count - 1].second.outputs, room = most_scratch(kernels, stack, x, true);
    int64_t made_again = 0;
    for (int64_t item = 0; item < x.count; item++)
        if (!kept.of(item)) made_again = std::max(made_again, kernels.kept(stack, x.lengths[item]));
    const std::vector<Buffer<float>> all = make_workspaces(room + made_again, threads);
    const std::vector<std::vector<int64_t>> groups = grouped(x);
    const int64_t size = CausalGradientSums::size(stack);
    const ScratchBuffer memory(groups.size() * size_t(size) * sizeof(float));
    float* const numbers = static_cast<float*>(memory.memory());
    std::vector<CausalGradientSums> added;
    for (size_t g = 0; g < groups.size(); g++) added.emplace_back(stack, numbers + int64_t(g) * size);
    volatile bool stop = false;
    const auto work = [&](int64_t group, int worker) {
        float* const scratch = all[size_t(worker)].get();
        std::fill_n(numbers + group * size, size, 0.0f);
        std::vector<float> unused(size_t(outputs), 0);
        std::vector<int64_t> also(size_t(outputs), 0);
        for (const int64_t item : groups[size_t(group)]) {
            if (stop) return;
            float* keep = kept.of(item);
            if (!keep) {
                keep = scratch + room;
                kernels.forward(stack, steps_of(x, item), x.lengths[item], unused.data(), also.data(), keep, scratch, &stop);
            }
            kernels.backward(stack, packed.turned, steps_of(x, item), x.lengths[item], where + item * outputs, gradient + item * outputs,
                             keep, added[size_t(group)].blocks.data(), to_x ? to_x + x.starts[item] * x.channels : nullptr, scratch, &stop);
        }
    };
    const int64_t tasks = int64_t(groups.size());
    run_tasks(tasks, threads, work, [&](int64_t done) { return poll(done, tasks); }, &stop);
    if (stop) return;
    const auto hand_over = [&](int64_t block, int) { collect(stack, block, added, wanted[size_t(block)]); };
    run_tasks(stack.count, threads, hand_over, [](int64_t) { return true; }, &stop);
}

}  // namespace

using Matrices = std::vector<Array3<const float>>;
using Vectors = std::vector<Array1<const float>>;
using Shortcuts = std::vector<Array2<const float>>;

static std::vector<GivenBlock> blocks_of(const Matrices& weights, const Vectors& biases, const Shortcuts& shortcuts,
                                         const Vectors& shortcut_biases) {
    std::vector<GivenBlock> blocks;
    if (shortcuts.empty() || weights.size() != 2 * shortcuts.size() || biases.size() != weights.size() ||
        shortcut_biases.size() != shortcuts.size())
        throw std::invalid_argument("expected two convolutions, two biases and a shortcut, which may be empty, for each block");
    for (size_t b = 0; b < shortcuts.size(); b++) {
        const auto layer = [&](size_t l) {
            const auto& w = weights[l];
            return GivenLayer{w.data(), biases[l].data(), int64_t(w.shape(0)), int64_t(w.shape(1)), int64_t(w.shape(2))};
        };
        const bool straight = shortcuts[b].size() == 0;
        blocks.push_back({layer(2 * b), layer(2 * b + 1), straight ? nullptr : shortcuts[b].data(), straight ? nullptr : shortcut_biases[b].data()});
    }
    return blocks;
}

// Steps are counted twice over in 32 bits.
static PackedSequences<float> sequences_of(const Array2<const float>& x, const Ids& starts, const Ids& lengths) {
    for (size_t i = 0; i < lengths.size(); i++)
        if (lengths.data()[i] < 1 || lengths.data()[i] >= int64_t(1) << 30)
            throw std::invalid_argument("sequences must have from one to 2^30 - 1 steps");
    return packed_sequences(x, starts, lengths);
}

void define_causal(nb::module_& module) {
    module.def(
        "causal_kept",
        [](Matrices weights, Vectors biases, Shortcuts shortcuts, Vectors shortcut_biases, Ids lengths, Array1<int64_t> out, Isa isa) {
            const CausalTable& kernels = table_for(isa, built);
            const auto given = blocks_of(weights, biases, shortcuts, shortcut_biases);
            const CausalPackedWeights packed(kernels, given, 0, Purpose::sizes);
            for (size_t i = 0; i < lengths.size(); i++) out.data()[i] = kernels.kept(packed.stack, lengths.data()[i]);
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::kw_only(), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());
    module.def(
        "causal_forward",
        [](Matrices weights, Vectors biases, Shortcuts shortcuts, Vectors shortcut_biases, float slope, Array2<const float> x, Ids starts,
           Ids lengths, std::optional<Array1<float>> kept, std::optional<Ids> kept_at, int threads, Array2<float> out, Array2<int64_t> where,
           Isa isa, bool screen) {
            const CausalTable& kernels = table_for(isa, built);
            const auto given = blocks_of(weights, biases, shortcuts, shortcut_biases);
            const CausalPackedWeights packed(kernels, given, slope, Purpose::values, screen ? rough_for(isa) : nullptr);
            const ActivationStore keeping{kept ? kept->data() : nullptr, kept ? kept_at->data() : nullptr};
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
                forward(kernels, packed.stack, sequences_of(x, starts, lengths), keeping, out.data(), where.data(), threads, poll);
            });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert().none(), nb::arg().noconvert().none(), nb::kw_only(), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("where").noconvert(),
        nb::arg("isa") = nb::none(), nb::arg("screen") = true);
    module.def(
        "causal_backward",
        [](Matrices weights, Vectors biases, Shortcuts shortcuts, Vectors shortcut_biases, float slope, Array2<const float> x, Ids starts,
           Ids lengths, std::optional<Array1<float>> kept, std::optional<Ids> kept_at, Array2<const int64_t> where,
           Array2<const float> gradient, int threads, std::optional<Array2<float>> out, std::vector<Array3<float>> to_weights,
           std::vector<Array1<float>> to_biases, std::vector<Array2<float>> to_shortcuts, std::vector<Array1<float>> to_shortcut_biases,
           Isa isa) {
            const CausalTable& kernels = table_for(isa, built);
            const auto given = blocks_of(weights, biases, shortcuts, shortcut_biases);
            const CausalPackedWeights packed(kernels, given, slope, Purpose::gradients, rough_for(isa));
            const ActivationStore keeping{kept ? kept->data() : nullptr, kept ? kept_at->data() : nullptr};
            std::vector<BlockGradientOutputs> wanted;
            for (size_t b = 0; b < given.size(); b++)
                wanted.push_back({to_weights[2 * b].data(), to_biases[2 * b].data(), to_weights[2 * b + 1].data(), to_biases[2 * b + 1].data(),
                                  to_shortcuts[b].data(), to_shortcut_biases[b].data()});
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
                backward(kernels, packed, sequences_of(x, starts, lengths), where.data(), gradient.data(), keeping,
                         out ? out->data() : nullptr, wanted, threads, poll);
            });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert().none(), nb::arg().noconvert().none(), nb::arg().noconvert(), nb::arg().noconvert(), nb::kw_only(),
        nb::arg("threads"), nb::arg("out").noconvert().none(), nb::arg("to_weights").noconvert(), nb::arg("to_biases").noconvert(), nb::arg("to_shortcuts").noconvert(),
        nb::arg("to_shortcut_biases").noconvert(), nb::arg("isa") = nb::none());
}

}  // namespace timelike
