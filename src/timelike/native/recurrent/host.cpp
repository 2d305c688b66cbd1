// GRUs and LSTMs over many sequences: scratch memory, threads, and Python's side of it.
#include <nanobind/stl/vector.h>

#include <cstring>

#include "machine/host.hpp"
#include "machine/pool.hpp"
#include "recurrent/weights.hpp"

namespace timelike {
namespace {

constexpr const RecurrentTable* built[] = TIMELIKE_TABLES(recurrent_table);
constexpr int64_t most_parts = 16;  // sums of weights' gradients in the making, each as large as the weights

// The sequences (item, time, channel), of which `lengths` steps count.
struct Given {
    const float* x;
    const int64_t* lengths;
    int64_t items, time, channels;

    const float* step(int64_t item, int64_t t) const { return x + (item * time + t) * channels; }
};

struct Network {
    RecurrentSizes sizes;
    const RecurrentKernels& kernels;
    std::vector<Layer> layers;
};

// The memory of one worker.
struct Desk {
    Desk(const RecurrentSizes& s, int64_t sequences, int64_t rows, bool sheets, bool gradients)
        : states(buffer<float>(s.layers * s.carried() * sequences)), scratch(buffer<float>(sequences * s.lanes)),
          sheet(buffer<float>(sheets ? s.sheets() * rows : 0)) {
        if (!gradients) return;
        back = buffer<float>(s.layers * s.carried() * sequences);
        gates = buffer<float>(s.units() * s.wide() * rows);
        reset = buffer<float>(s.gates == 3 ? s.units() * s.wide() * rows : 0);
        const int64_t wide = std::max(s.panels(s.inputs), s.states()) * s.wide();
        for (Buffer<float>& one : between) one = buffer<float>(wide * rows);
    }
    Buffer<float> states, scratch, sheet, back, gates, reset, between[2];
};

std::vector<Desk> desks(const RecurrentSizes& s, const Plan& plan, bool sheets, bool gradients, int threads) {
    int64_t sequences = 0;
    for (const BlockPlan& block : plan.blocks) sequences = std::max(sequences, block.sequences());
    std::vector<Desk> made;
    for (int worker = 0; worker < std::max(1, threads); worker++) made.emplace_back(s, sequences, plan.most_rows(), sheets, gradients);
    return made;
}

// Waking threads costs more than a few small steps.
int wanted(const RecurrentSizes& s, const Plan& plan, int threads) {
    return double(plan.rows) * double(s.layers * s.gates * s.hidden) * double(s.hidden + s.inputs) < 2e6 ? 0 : threads;
}

// visit(numbers of a step in x, the same in panels) for every row of a chunk
template <class Visit>
void over_rows(const BlockPlan& block, const ChunkPlan& chunk, const Visit& visit) {
    int64_t row = 0;
    for (int64_t t = chunk.begin; t < chunk.begin + chunk.steps; t++)
        for (int64_t k = 0; k < block.counts[size_t(t)]; k++) visit(block.items[size_t(k)], t, row++);
}

void take_inputs(const RecurrentSizes& s, const Given& given, const BlockPlan& block, const ChunkPlan& chunk, float* into) {
    const int64_t wide = s.wide();
    over_rows(block, chunk, [&](int64_t item, int64_t t, int64_t row) {
        const float* const from = given.step(item, t);
        for (int64_t first = 0; first < s.inputs; first += wide) {
            float* const to = into + (first / wide * chunk.rows + row) * wide;
            const int64_t some = std::min(wide, s.inputs - first);
            std::copy_n(from + first, some, to);
            std::fill_n(to + some, wide - some, 0.0f);  // multiplied by nothing that counts, but not by garbage
        }
    });
}

void give_inputs(const RecurrentSizes& s, const Given& given, const BlockPlan& block, const ChunkPlan& chunk, const float* from, float* into) {
    const int64_t wide = s.wide();
    over_rows(block, chunk, [&](int64_t item, int64_t t, int64_t row) {
        float* const to = into + (item * given.time + t) * given.channels;
        for (int64_t first = 0; first < s.inputs; first += wide)
            std::copy_n(from + (first / wide * chunk.rows + row) * wide, std::min(wide, s.inputs - first), to + first);
    });
}

// All layers of one chunk, into the sheets at `base`.
void chunk_forward(const Network& network, const Packed& packed, const Given& given, const BlockPlan& block, const ChunkPlan& chunk,
                   float* base, Desk& desk, const volatile bool* stop) {
    const RecurrentSizes& s = network.sizes;
    take_inputs(s, given, block, chunk, base);
    for (int64_t l = 0; l < s.layers; l++) {
        float* const above = l + 1 < s.layers ? s.sheet_at(base, l + 1, chunk.rows).inputs : nullptr;
        network.kernels.forward(packed.cells[size_t(l)], block.chunk(chunk), s.sheet_at(base, l, chunk.rows),
                                s.state_at(desk.states.get(), l, block.sequences()), above, desk.scratch.get(), stop);
    }
}

// Number k of the last layer's state of a sequence, among numbers in panels.
float* of_state(const RecurrentSizes& s, const BlockPlan& block, float* states, int64_t sequence, int64_t first) {
    return s.state_at(states, s.layers - 1, block.sequences()).h + (first / s.wide() * block.sequences() + sequence) * s.wide();
}

void forward(const Network& network, const Given& given, const Plan& plan, float* kept, float* out, int threads, const Poll& poll) {
    const RecurrentSizes& s = network.sizes;
    const Packed packed(s, network.layers, true, false);
    threads = wanted(s, plan, threads);
    std::vector<Desk> all = desks(s, plan, !kept || !plan.whole, false, threads);
    volatile bool stop = false;
    const auto work = [&](int64_t b, int worker) {
        const BlockPlan& block = plan.blocks[size_t(b)];
        Desk& desk = all[size_t(worker)];
        const int64_t carried = s.layers * s.carried() * block.sequences();
        std::fill_n(desk.states.get(), carried, 0.0f);
        for (const ChunkPlan& chunk : block.chunks) {
            if (stop) return;
            if (kept && !plan.whole) std::copy_n(desk.states.get(), carried, kept + chunk.kept);
            chunk_forward(network, packed, given, block, chunk, kept && plan.whole ? kept + chunk.kept : desk.sheet.get(), desk, &stop);
        }
        for (int64_t k = 0; k < block.sequences(); k++)
            for (int64_t first = 0; first < s.hidden; first += s.wide())
                std::copy_n(of_state(s, block, desk.states.get(), k, first), std::min(s.wide(), s.hidden - first),
                            out + block.items[size_t(k)] * s.hidden + first);
    };
    const int64_t tasks = int64_t(plan.blocks.size());
    run_tasks(tasks, threads, work, [&](int64_t done) { return poll(done, tasks); }, &stop);
}

// Where the gradients go: by the inputs, unless it is null, and by the layers.
struct Wanted {
    float* x;
    std::vector<LayerGradients> layers;
};

// All layers of one chunk, the last first.
void chunk_back(const Network& network, const Packed& packed, const BlockPlan& block, const ChunkPlan& chunk, float* base, Desk& desk,
                std::vector<WeightSums>& sums, bool to_inputs, const volatile bool* stop) {
    const RecurrentSizes& s = network.sizes;
    for (int64_t l = s.layers - 1; l >= 0 && !*stop; l--) {
        WeightSums& own = sums[size_t(l)];
        float* const gates = desk.gates.get();
        const RecurrentGradients by{l + 1 < s.layers ? desk.between[(l + 1) % 2].get() : nullptr,
                                    l > 0 || to_inputs ? desk.between[l % 2].get() : nullptr, gates,
                                    s.gates == 3 ? desk.reset.get() : gates, own.input.get(), own.state.get(), own.bias.get(), own.fresh.get()};
        network.kernels.backward(packed.cells[size_t(l)], block.chunk(chunk), s.sheet_at(base, l, chunk.rows),
                                 s.state_at(desk.back.get(), l, block.sequences()), by, stop);
    }
}

void block_back(const Network& network, const Packed& packed, const Given& given, const Plan& plan, const BlockPlan& block,
                const float* kept, const float* gradient, float* to_x, Desk& desk, std::vector<WeightSums>& sums, const volatile bool* stop) {
    const RecurrentSizes& s = network.sizes;
    const int64_t carried = s.layers * s.carried() * block.sequences();
    std::fill_n(desk.back.get(), carried, 0.0f);
    for (int64_t k = 0; k < block.sequences(); k++)
        for (int64_t first = 0; first < s.hidden; first += s.wide())
            std::copy_n(gradient + block.items[size_t(k)] * s.hidden + first, std::min(s.wide(), s.hidden - first),
                        of_state(s, block, desk.back.get(), k, first));
    for (size_t c = block.chunks.size(); c-- > 0 && !*stop;) {
        const ChunkPlan& chunk = block.chunks[c];
        float* base = const_cast<float*>(kept) + chunk.kept;  // read only
        if (!plan.whole) {
            std::copy_n(kept + chunk.kept, carried, desk.states.get());
            base = desk.sheet.get();
            chunk_forward(network, packed, given, block, chunk, base, desk, stop);
        }
        chunk_back(network, packed, block, chunk, base, desk, sums, to_x != nullptr, stop);
        if (to_x && !*stop) give_inputs(s, given, block, chunk, desk.between[0].get(), to_x);
    }
}

void backward(const Network& network, const Given& given, const Plan& plan, const float* kept, const float* gradient, const Wanted& into,
              int threads, const Poll& poll) {
    const RecurrentSizes& s = network.sizes;
    const Packed packed(s, network.layers, !plan.whole, true);
    threads = wanted(s, plan, threads);
    std::vector<Desk> all = desks(s, plan, !plan.whole, true, threads);
    // blocks summed in turn, then their sums in turn: no result depends on threads, and few sums are kept
    const int64_t blocks = int64_t(plan.blocks.size()), parts = std::min(blocks, most_parts);
    std::vector<std::vector<WeightSums>> sums{size_t(parts)};
    for (auto& part : sums)
        for (int64_t l = 0; l < s.layers; l++) part.emplace_back(s, l);
    volatile bool stop = false;
    const auto work = [&](int64_t part, int worker) {
        for (int64_t b = part; b < blocks && !stop; b += parts)
            block_back(network, packed, given, plan, plan.blocks[size_t(b)], kept, gradient, into.x, all[size_t(worker)],
                       sums[size_t(part)], &stop);
    };
    if (!run_tasks(parts, threads, work, [&](int64_t done) { return poll(done, parts); }, &stop)) return;
    const auto gather = [&](int64_t task, int) {
        collect(s, sums, task / s.hidden, task % s.hidden, into.layers[size_t(task / s.hidden)]);
    };
    run_tasks(s.layers * s.hidden, threads, gather, [&](int64_t) { return poll(parts, parts); }, &stop);
}

template <class T> using Matrices = std::vector<Array2<T>>;
template <class T> using Vectors = std::vector<Array1<T>>;

template <class T>
std::vector<LayerOf<T>> layers_of(const Matrices<T>& weights, const Vectors<T>& biases) {
    std::vector<LayerOf<T>> made;
    for (size_t l = 0; l + 1 < weights.size(); l += 2)
        made.push_back({weights[l].data(), weights[l + 1].data(), biases[l].data(), biases[l + 1].data()});
    return made;
}

RecurrentSizes sizes_of(const RecurrentKernels& kernels, int64_t inputs, int64_t hidden, int64_t layers) {
    return {inputs, hidden, layers, kernels.lanes, kernels.gates};
}

const RecurrentKernels& kernels_of(bool lstm, const Isa& isa) {
    const RecurrentTable& table = table_for(isa, built);
    return lstm ? table.lstm : table.gru;
}

Network network_of(bool lstm, const Isa& isa, const Matrices<const float>& weights, const Vectors<const float>& biases) {
    const RecurrentKernels& kernels = kernels_of(lstm, isa);
    const int64_t hidden = int64_t(weights[1].shape(1)), inputs = int64_t(weights[0].shape(1));
    return {sizes_of(kernels, inputs, hidden, int64_t(weights.size()) / 2), kernels, layers_of(weights, biases)};
}

Given given_of(const Array3<const float>& x, const Ids& lengths) {
    return {x.data(), lengths.data(), int64_t(x.shape(0)), int64_t(x.shape(1)), int64_t(x.shape(2))};
}

int64_t kept_python(bool lstm, int64_t inputs, int64_t hidden, int64_t layers, Ids lengths, int64_t budget, Isa isa) {
    return Plan(sizes_of(kernels_of(lstm, isa), inputs, hidden, layers), lengths.data(), int64_t(lengths.size()), budget).kept;
}

void forward_python(bool lstm, Matrices<const float> weights, Vectors<const float> biases, Array3<const float> x, Ids lengths,
                    std::optional<Array1<float>> kept, int64_t budget, int threads, Array2<float> out, Isa isa) {
    const Network network = network_of(lstm, isa, weights, biases);
    const Given given = given_of(x, lengths);
    const Plan plan(network.sizes, given.lengths, given.items, budget);
    if (kept && int64_t(kept->size()) != plan.kept) throw std::invalid_argument("kept has room for other sequences");
    Watch{nb::none(), {}}.over([&](const Poll& poll) { forward(network, given, plan, kept ? kept->data() : nullptr, out.data(), threads, poll); });
}

void backward_python(bool lstm, Matrices<const float> weights, Vectors<const float> biases, Array3<const float> x, Ids lengths,
                     Array1<const float> kept, Array2<const float> gradient, int64_t budget, int threads, std::optional<Array3<float>> to_x,
                     Matrices<float> to_weights, Vectors<float> to_biases, Isa isa) {
    const Network network = network_of(lstm, isa, weights, biases);
    const Given given = given_of(x, lengths);
    const Plan plan(network.sizes, given.lengths, given.items, budget);
    if (int64_t(kept.size()) != plan.kept) throw std::invalid_argument("what was kept is of other sequences");
    const Wanted into{to_x ? to_x->data() : nullptr, layers_of(to_weights, to_biases)};
    Watch{nb::none(), {}}.over([&](const Poll& poll) { backward(network, given, plan, kept.data(), gradient.data(), into, threads, poll); });
}

}  // namespace

void define_recurrent(nb::module_& module) {
    const auto fixed = nb::arg().noconvert();
    module.def("recurrent_kept", &kept_python, nb::arg(), nb::arg(), nb::arg(), nb::arg(), fixed, nb::kw_only(), nb::arg("budget"),
               nb::arg("isa") = nb::none());
    module.def("recurrent_forward", &forward_python, nb::arg(), fixed, fixed, fixed, fixed, nb::arg().noconvert().none(), nb::kw_only(),
               nb::arg("budget"), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());
    module.def("recurrent_backward", &backward_python, nb::arg(), fixed, fixed, fixed, fixed, fixed, fixed, nb::kw_only(),
               nb::arg("budget"), nb::arg("threads"), nb::arg("to_x").noconvert().none(), nb::arg("to_weights").noconvert(),
               nb::arg("to_biases").noconvert(), nb::arg("isa") = nb::none());
}

}  // namespace timelike
