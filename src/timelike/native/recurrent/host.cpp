// GRUs and LSTMs over many sequences: scratch memory, threads, and Python's side of it.
#include <nanobind/stl/vector.h>

#include <cstring>

#include "machine/host.hpp"
#include "machine/pool.hpp"
#include "recurrent/shelf.hpp"
#include "recurrent/weights.hpp"

namespace timelike {
namespace {

constexpr const RecurrentTable* built[] = TIMELIKE_TABLES(recurrent_table);
constexpr int64_t most_parts = 16;  // sums of weights' gradients in the making, each as large as the weights

// The sequences (item, time, channel), of which `lengths` steps count.
template <class T>
struct Given {
    const T* x;
    const int64_t* lengths;
    int64_t items, time, channels;

    const T* step(int64_t item, int64_t t) const { return x + (item * time + t) * channels; }
};

template <class T>
struct Network {
    RecurrentSizes sizes;
    const RecurrentKernels<T>& kernels;
    std::vector<Layer<T>> layers;
};

// The memory of one worker.
template <class T>
struct Desk {
    Desk(const RecurrentSizes& s, int64_t sequences, int64_t rows, bool sheets, bool gradients)
        : states(buffer<T>(s.layers * s.carried() * sequences)), scratch(buffer<T>(sequences * s.lanes)),
          sheet(buffer<T>(sheets ? s.sheets() * rows : 0)) {
        if (!gradients) return;
        back = buffer<T>(s.layers * s.carried() * sequences);
        gates = buffer<T>(s.units() * s.wide() * rows);
        reset = buffer<T>(s.gates == 3 ? s.units() * s.wide() * rows : 0);
        const int64_t wide = std::max(s.panels(s.inputs), s.states()) * s.wide();
        for (Buffer<T>& one : between) one = buffer<T>(wide * rows);
    }
    Buffer<T> states, scratch, sheet, back, gates, reset, between[2];
};

template <class T>
std::vector<Desk<T>> desks(const RecurrentSizes& s, const Plan& plan, bool sheets, bool gradients, int threads) {
    int64_t sequences = 0;
    for (const BlockPlan& block : plan.blocks) sequences = std::max(sequences, block.sequences());
    std::vector<Desk<T>> made;
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

template <class T>
void take_inputs(const RecurrentSizes& s, const Given<T>& given, const BlockPlan& block, const ChunkPlan& chunk, T* into) {
    const int64_t wide = s.wide();
    over_rows(block, chunk, [&](int64_t item, int64_t t, int64_t row) {
        const T* const from = given.step(item, t);
        for (int64_t first = 0; first < s.inputs; first += wide) {
            T* const to = into + (first / wide * chunk.rows + row) * wide;
            const int64_t some = std::min(wide, s.inputs - first);
            std::copy_n(from + first, some, to);
            std::fill_n(to + some, wide - some, T(0));  // multiplied by nothing that counts, but not by garbage
        }
    });
}

template <class T>
void give_inputs(const RecurrentSizes& s, const Given<T>& given, const BlockPlan& block, const ChunkPlan& chunk, const T* from, T* into) {
    const int64_t wide = s.wide();
    over_rows(block, chunk, [&](int64_t item, int64_t t, int64_t row) {
        T* const to = into + (item * given.time + t) * given.channels;
        for (int64_t first = 0; first < s.inputs; first += wide)
            std::copy_n(from + (first / wide * chunk.rows + row) * wide, std::min(wide, s.inputs - first), to + first);
    });
}

// All layers of one chunk, into the sheets at `base`.
template <class T>
void chunk_forward(const Network<T>& network, const Packed<T>& packed, const Given<T>& given, const BlockPlan& block, const ChunkPlan& chunk,
                   T* base, Desk<T>& desk, const volatile bool* stop) {
    const RecurrentSizes& s = network.sizes;
    take_inputs(s, given, block, chunk, base);
    for (int64_t l = 0; l < s.layers; l++) {
        T* const above = l + 1 < s.layers ? s.sheet_at(base, l + 1, chunk.rows).inputs : nullptr;
        network.kernels.forward(packed.cells[size_t(l)], block.chunk(chunk), s.sheet_at(base, l, chunk.rows),
                                s.state_at(desk.states.get(), l, block.sequences()), above, desk.scratch.get(), stop);
    }
}

// Number k of the last layer's state of a sequence, among numbers in panels.
template <class T>
T* of_state(const RecurrentSizes& s, const BlockPlan& block, T* states, int64_t sequence, int64_t first) {
    return s.state_at(states, s.layers - 1, block.sequences()).h + (first / s.wide() * block.sequences() + sequence) * s.wide();
}

template <class T>
void forward(const Network<T>& network, const Given<T>& given, const Plan& plan, T* kept, T* out, int threads, const Poll& poll) {
    const RecurrentSizes& s = network.sizes;
    const Packed<T> packed(s, network.layers, true, false);
    threads = wanted(s, plan, threads);
    std::vector<Desk<T>> all = desks<T>(s, plan, !kept || !plan.whole, false, threads);
    volatile bool stop = false;
    const auto work = [&](int64_t b, int worker) {
        const BlockPlan& block = plan.blocks[size_t(b)];
        Desk<T>& desk = all[size_t(worker)];
        const int64_t carried = s.layers * s.carried() * block.sequences();
        std::fill_n(desk.states.get(), carried, T(0));
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
template <class T>
struct Wanted {
    T* x;
    std::vector<LayerOf<T>> layers;
};

// All layers of one chunk, the last first.
template <class T>
void chunk_back(const Network<T>& network, const Packed<T>& packed, const BlockPlan& block, const ChunkPlan& chunk, T* base, Desk<T>& desk,
                std::vector<WeightSums<T>>& sums, bool to_inputs, const volatile bool* stop) {
    const RecurrentSizes& s = network.sizes;
    for (int64_t l = s.layers - 1; l >= 0 && !*stop; l--) {
        WeightSums<T>& own = sums[size_t(l)];
        T* const gates = desk.gates.get();
        const RecurrentGradients<T> by{l + 1 < s.layers ? desk.between[(l + 1) % 2].get() : nullptr,
                                    l > 0 || to_inputs ? desk.between[l % 2].get() : nullptr, gates,
                                    s.gates == 3 ? desk.reset.get() : gates, own.input.get(), own.state.get(), own.bias.get(), own.fresh.get()};
        network.kernels.backward(packed.cells[size_t(l)], block.chunk(chunk), s.sheet_at(base, l, chunk.rows),
                                 s.state_at(desk.back.get(), l, block.sequences()), by, stop);
    }
}

template <class T>
void block_back(const Network<T>& network, const Packed<T>& packed, const Given<T>& given, const Plan& plan, const BlockPlan& block,
                const T* kept, const T* gradient, T* to_x, Desk<T>& desk, std::vector<WeightSums<T>>& sums, const volatile bool* stop) {
    const RecurrentSizes& s = network.sizes;
    const int64_t carried = s.layers * s.carried() * block.sequences();
    std::fill_n(desk.back.get(), carried, T(0));
    for (int64_t k = 0; k < block.sequences(); k++)
        for (int64_t first = 0; first < s.hidden; first += s.wide())
            std::copy_n(gradient + block.items[size_t(k)] * s.hidden + first, std::min(s.wide(), s.hidden - first),
                        of_state(s, block, desk.back.get(), k, first));
    for (size_t c = block.chunks.size(); c-- > 0 && !*stop;) {
        const ChunkPlan& chunk = block.chunks[c];
        T* base = const_cast<T*>(kept) + chunk.kept;  // read only
        if (!plan.whole) {
            std::copy_n(kept + chunk.kept, carried, desk.states.get());
            base = desk.sheet.get();
            chunk_forward(network, packed, given, block, chunk, base, desk, stop);
        }
        chunk_back(network, packed, block, chunk, base, desk, sums, to_x != nullptr, stop);
        if (to_x && !*stop) give_inputs(s, given, block, chunk, desk.between[0].get(), to_x);
    }
}

template <class T>
void backward(const Network<T>& network, const Given<T>& given, const Plan& plan, const T* kept, const T* gradient, const Wanted<T>& into,
              int threads, const Poll& poll) {
    const RecurrentSizes& s = network.sizes;
    const Packed<T> packed(s, network.layers, !plan.whole, true);
    threads = wanted(s, plan, threads);
    std::vector<Desk<T>> all = desks<T>(s, plan, !plan.whole, true, threads);
    // blocks summed in turn, then their sums in turn: no result depends on threads, and few sums are kept
    const int64_t blocks = int64_t(plan.blocks.size()), parts = std::min(blocks, most_parts);
    std::vector<std::vector<WeightSums<T>>> sums{size_t(parts)};
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
    const bool few = s.gates * s.hidden * (s.hidden + s.inputs) < 100000;  // done before a thread is awake
    run_tasks(s.layers * s.hidden, few ? 0 : threads, gather, [&](int64_t) { return poll(parts, parts); }, &stop);
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

template <class T>
const RecurrentKernels<T>& kernels_of(bool lstm, const Isa& isa) {
    const RecurrentTable& table = table_for(isa, built);
    if constexpr (std::is_same_v<T, float>) return lstm ? table.lstm : table.gru;
    else return lstm ? table.lstm_double : table.gru_double;
}

template <class T>
Network<T> network_of(bool lstm, const Isa& isa, const Matrices<const T>& weights, const Vectors<const T>& biases) {
    const RecurrentKernels<T>& kernels = kernels_of<T>(lstm, isa);
    const int64_t hidden = int64_t(weights[1].shape(1)), inputs = int64_t(weights[0].shape(1)), layers = int64_t(weights.size()) / 2;
    return {{inputs, hidden, layers, kernels.lanes, kernels.gates}, kernels, layers_of(weights, biases)};
}

template <class T>
Given<T> given_of(const Array3<const T>& x, const Ids& lengths) {
    return {x.data(), lengths.data(), int64_t(x.shape(0)), int64_t(x.shape(1)), int64_t(x.shape(2))};
}

// never destroyed: arrays may outlive static destruction
Shelf& shelf() {
    static Shelf* const one = new Shelf;
    return *one;
}

struct Kept {
    explicit Kept(size_t bytes) : room(shelf().take(bytes)) {}
    ~Kept() { shelf().give(room); }
    Kept(const Kept&) = delete;
    const Room room;
};

// Gives what the way back needs, or None.
template <class T>
nb::object forward_python(bool lstm, Matrices<const T> weights, Vectors<const T> biases, Array3<const T> x, Ids lengths, bool keep,
                          int64_t budget, int threads, Array2<T> out, Isa isa) {
    const Network<T> network = network_of<T>(lstm, isa, weights, biases);
    const Given<T> given = given_of<T>(x, lengths);
    const Plan plan(network.sizes, given.lengths, given.items, budget);
    std::unique_ptr<Kept> kept = keep ? std::make_unique<Kept>(size_t(plan.kept) * sizeof(T)) : nullptr;
    T* const memory = keep ? static_cast<T*>(kept->room.memory) : nullptr;
    Watch{nb::none(), {}}.over([&](const Poll& poll) { forward<T>(network, given, plan, memory, out.data(), threads, poll); });
    if (!keep) return nb::none();
    const size_t size[1] = {size_t(plan.kept)};
    nb::capsule owner(kept.release(), [](void* held) noexcept { delete static_cast<Kept*>(held); });
    return nb::cast(nb::ndarray<nb::numpy, T>(memory, 1, size, owner));
}

template <class T>
void backward_python(bool lstm, Matrices<const T> weights, Vectors<const T> biases, Array3<const T> x, Ids lengths,
                     Array1<const T> kept, Array2<const T> gradient, int64_t budget, int threads, std::optional<Array3<T>> to_x,
                     Matrices<T> to_weights, Vectors<T> to_biases, Isa isa) {
    const Network<T> network = network_of<T>(lstm, isa, weights, biases);
    const Given<T> given = given_of<T>(x, lengths);
    const Plan plan(network.sizes, given.lengths, given.items, budget);
    if (int64_t(kept.size()) != plan.kept) throw std::invalid_argument("what was kept is of other sequences");
    const Wanted<T> into{to_x ? to_x->data() : nullptr, layers_of(to_weights, to_biases)};
    Watch{nb::none(), {}}.over(
        [&](const Poll& poll) { backward<T>(network, given, plan, kept.data(), gradient.data(), into, threads, poll); });
}

template <class T>
void define_for(nb::module_& module) {
    const auto fixed = nb::arg().noconvert();
    module.def("recurrent_forward", &forward_python<T>, nb::arg(), fixed, fixed, fixed, fixed, nb::kw_only(), nb::arg("keep"),
               nb::arg("budget"), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());
    module.def("recurrent_backward", &backward_python<T>, nb::arg(), fixed, fixed, fixed, fixed, fixed, fixed, nb::kw_only(),
               nb::arg("budget"), nb::arg("threads"), nb::arg("to_x").noconvert().none(), nb::arg("to_weights").noconvert(),
               nb::arg("to_biases").noconvert(), nb::arg("isa") = nb::none());
}

}  // namespace

void define_recurrent(nb::module_& module) {
    define_for<float>(module);
    define_for<double>(module);
}

}  // namespace timelike
