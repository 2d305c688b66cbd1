// One block of sequences (recurrent/plan.hpp) through all layers and back, chunk by chunk, on the memory of one worker.
#pragma once
#include "recurrent/weights.hpp"

namespace timelike {
namespace {

// The sequences (item, time, channel), of which `lengths` steps count.
template <class T>
struct InputBatch {
    const T* x;
    const int64_t* lengths;
    int64_t items, time, channels;

    int64_t at(int64_t item, int64_t t) const { return (item * time + t) * channels; }
};

// What every block needs to know.
template <class T>
struct NetworkPass {
    const RecurrentSizes& sizes;
    const RecurrentKernels<T>& kernels;
    const PackedWeights<T>& packed;
    const InputBatch<T>& given;
    const Plan& plan;
};

// The memory of one worker.
template <class T>
struct Workspace {
    Workspace(const RecurrentSizes& s, const Plan& plan, bool sheets, bool gradients) {
        const int64_t sequences = plan.most_sequences(), rows = plan.most_rows(), gate = s.units() * s.wide();
        states = buffer<T>(s.layers * s.carried() * sequences);
        scratch = buffer<T>(sequences * s.lanes);
        if (sheets) sheet = buffer<T>(s.sheets() * rows);
        if (!gradients) return;
        back = buffer<T>(s.layers * s.carried() * sequences);
        gates = buffer<T>(gate * rows);
        if (s.gates == 3) reset = buffer<T>(gate * rows);
        for (Buffer<T>& one : between) one = buffer<T>(std::max(s.panels(s.inputs), s.states()) * s.wide() * rows);
    }
    Buffer<T> states, scratch, sheet;              // forwards
    Buffer<T> back, gates, reset, between[2];      // on the backward pass
};

// visit(place of a step in x, place of its first column in panels, columns) for every row of a chunk and panel of inputs
template <class T, class Visit>
void over_inputs(const NetworkPass<T>& job, const BlockPlan& block, const ChunkPlan& chunk, const Visit& visit) {
    const int64_t wide = job.sizes.wide(), inputs = job.sizes.inputs;
    int64_t row = 0;
    for (int64_t t = chunk.begin; t < chunk.begin + chunk.steps; t++)
        for (int64_t k = 0; k < block.counts[size_t(t)]; k++, row++)
            for (int64_t first = 0; first < inputs; first += wide)
                visit(job.given.at(block.items[size_t(k)], t) + first, (first / wide * chunk.rows + row) * wide,
                      std::min(wide, inputs - first));
}

// visit(place in (item, hidden), place in the last layer's carried h, columns) for every sequence and panel
template <class T, class Visit>
void over_states(const NetworkPass<T>& job, const BlockPlan& block, const Visit& visit) {
    const int64_t wide = job.sizes.wide(), hidden = job.sizes.hidden, many = block.sequences();
    for (int64_t k = 0; k < many; k++)
        for (int64_t first = 0; first < hidden; first += wide)
            visit(block.items[size_t(k)] * hidden + first, (first / wide * many + k) * wide, std::min(wide, hidden - first));
}

// All layers of one chunk, into the sheets at `base`.
template <class T>
void chunk_forward(const NetworkPass<T>& job, const BlockPlan& block, const ChunkPlan& chunk, T* base, const Workspace<T>& workspace,
                   const volatile bool* stop) {
    const RecurrentSizes& s = job.sizes;
    over_inputs(job, block, chunk, [&](int64_t from, int64_t to, int64_t some) {
        std::copy_n(job.given.x + from, some, base + to);
        std::fill_n(base + to + some, s.wide() - some, T(0));  // columns that count for nothing, but not garbage
    });
    for (int64_t l = 0; l < s.layers; l++) {
        T* const above = l + 1 < s.layers ? s.sheet_at(base, l + 1, chunk.rows).inputs : nullptr;
        job.kernels.forward(job.packed.cells[size_t(l)], block.chunk(chunk), s.sheet_at(base, l, chunk.rows),
                            s.state_at(workspace.states.get(), l, block.sequences()), above, workspace.scratch.get(), stop);
    }
}

// The last states into `out` (item, hidden), and into `kept`, unless it is null, what the backward pass needs.
template <class T>
void block_forward(const NetworkPass<T>& job, const BlockPlan& block, T* kept, T* out, const Workspace<T>& workspace, const volatile bool* stop) {
    const RecurrentSizes& s = job.sizes;
    const int64_t carried = s.layers * s.carried() * block.sequences();
    std::fill_n(workspace.states.get(), carried, T(0));
    for (const ChunkPlan& chunk : block.chunks) {
        if (*stop) return;
        if (kept && !job.plan.whole) std::copy_n(workspace.states.get(), carried, kept + chunk.kept);
        chunk_forward(job, block, chunk, kept && job.plan.whole ? kept + chunk.kept : workspace.sheet.get(), workspace, stop);
    }
    const T* const last = s.state_at(workspace.states.get(), s.layers - 1, block.sequences()).h;
    over_states(job, block, [&](int64_t to, int64_t from, int64_t some) { std::copy_n(last + from, some, out + to); });
}

// All layers of one chunk, the last first; gradients by the inputs end in workspace.between[0].
template <class T>
void chunk_back(const NetworkPass<T>& job, const BlockPlan& block, const ChunkPlan& chunk, T* base, const Workspace<T>& workspace,
                const std::vector<WeightSums<T>>& sums, bool to_inputs, const volatile bool* stop) {
    const RecurrentSizes& s = job.sizes;
    for (int64_t l = s.layers - 1; l >= 0 && !*stop; l--) {
        const WeightSums<T>& own = sums[size_t(l)];
        RecurrentGradients<T> by{};
        by.above = l + 1 < s.layers ? workspace.between[(l + 1) % 2].get() : nullptr;
        by.below = l > 0 || to_inputs ? workspace.between[l % 2].get() : nullptr;
        by.gates = workspace.gates.get(), by.reset = s.gates == 3 ? workspace.reset.get() : by.gates;
        by.input = own.input.get(), by.state = own.state.get(), by.bias = own.bias.get(), by.fresh = own.fresh.get();
        job.kernels.backward(job.packed.cells[size_t(l)], block.chunk(chunk), s.sheet_at(base, l, chunk.rows),
                             s.state_at(workspace.back.get(), l, block.sequences()), by, stop);
    }
}

// From the gradient by the last states, (item, hidden), those of weights into `sums` (layer), and into `to_x` unless it is null.
template <class T>
void block_back(const NetworkPass<T>& job, const BlockPlan& block, const T* kept, const T* gradient, T* to_x, const Workspace<T>& workspace,
                const std::vector<WeightSums<T>>& sums, const volatile bool* stop) {
    const RecurrentSizes& s = job.sizes;
    const int64_t carried = s.layers * s.carried() * block.sequences();
    std::fill_n(workspace.back.get(), carried, T(0));
    T* const last = s.state_at(workspace.back.get(), s.layers - 1, block.sequences()).h;
    over_states(job, block, [&](int64_t from, int64_t to, int64_t some) { std::copy_n(gradient + from, some, last + to); });
    for (size_t c = block.chunks.size(); c-- > 0 && !*stop;) {
        const ChunkPlan& chunk = block.chunks[c];
        T* base = const_cast<T*>(kept) + chunk.kept;  // read only
        if (!job.plan.whole) {
            std::copy_n(kept + chunk.kept, carried, workspace.states.get());
            base = workspace.sheet.get();
            chunk_forward(job, block, chunk, base, workspace, stop);
        }
        chunk_back(job, block, chunk, base, workspace, sums, to_x != nullptr, stop);
        if (!to_x || *stop) continue;
        const T* const found = workspace.between[0].get();
        over_inputs(job, block, chunk, [&](int64_t to, int64_t from, int64_t some) { std::copy_n(found + from, some, to_x + to); });
    }
}

}  // namespace
}  // namespace timelike
