// GRUs and LSTMs over many sequences: threads, and Python's side of it.
#include <nanobind/stl/vector.h>

#include "machine/host.hpp"
#include "machine/pool.hpp"
#include "machine/scratch_buffer.hpp"
#include "recurrent/blocks.hpp"

namespace timelike {
namespace {

constexpr const RecurrentTable* built[] = TIMELIKE_TABLES(recurrent_table);
constexpr int64_t most_parts = 16;  // sums of weights' gradients in the making, each as large as the weights

template <class T>
struct Network {
    RecurrentSizes sizes;
    const RecurrentKernels<T>& kernels;
    std::vector<Layer<T>> layers;
};

template <class T>
std::vector<Workspace<T>> make_workspaces(const RecurrentSizes& s, const Plan& plan, bool sheets, bool gradients, int threads) {
    std::vector<Workspace<T>> made;  // here, where a lack of memory is an exception and not the end
    for (int worker = 0; worker < std::max(1, threads); worker++) made.emplace_back(s, plan, sheets, gradients);
    return made;
}

// Waking threads costs more than a few small steps.
int useful_threads(const RecurrentSizes& s, const Plan& plan, int threads) {
    return double(plan.rows) * double(s.layers * s.gates * s.hidden) * double(s.hidden + s.inputs) < 2e6 ? 0 : threads;
}

template <class T>
void forward(const Network<T>& network, const InputBatch<T>& given, const Plan& plan, T* kept, T* out, int threads, const Poll& poll) {
    const RecurrentSizes& s = network.sizes;
    const PackedWeights<T> packed(s, network.layers, true, false);
    const NetworkPass<T> job{s, network.kernels, packed, given, plan};
    threads = useful_threads(s, plan, threads);
    const std::vector<Workspace<T>> all = make_workspaces<T>(s, plan, !kept || !plan.whole, false, threads);
    const int64_t blocks = int64_t(plan.blocks.size());
    volatile bool stop = false;
    const auto work = [&](int64_t b, int worker) {
        block_forward(job, plan.blocks[size_t(b)], kept, out, all[size_t(worker)], &stop);
    };
    run_tasks(blocks, threads, work, [&](int64_t done) { return poll(done, blocks); }, &stop);
}

// Where the gradients go: by the inputs, unless it is null, and by the layers.
template <class T>
struct GradientOutputs {
    T* x;
    std::vector<LayerWeights<T>> layers;
};

template <class T>
void backward(const Network<T>& network, const InputBatch<T>& given, const Plan& plan, const T* kept, const T* gradient,
              const GradientOutputs<T>& into, int threads, const Poll& poll) {
    const RecurrentSizes& s = network.sizes;
    const PackedWeights<T> packed(s, network.layers, !plan.whole, true);
    const NetworkPass<T> job{s, network.kernels, packed, given, plan};
    threads = useful_threads(s, plan, threads);
    const std::vector<Workspace<T>> all = make_workspaces<T>(s, plan, !plan.whole, true, threads);
    // blocks summed in turn, then their sums in turn: no result depends on threads, and few sums are kept
    const int64_t blocks = int64_t(plan.blocks.size()), parts = std::min(blocks, most_parts);
    std::vector<std::vector<WeightSums<T>>> sums{size_t(parts)};
    for (auto& part : sums)
        for (int64_t l = 0; l < s.layers; l++) part.emplace_back(s, l);
    volatile bool stop = false;
    const auto work = [&](int64_t part, int worker) {
        for (int64_t b = part; b < blocks && !stop; b += parts)
            block_back(job, plan.blocks[size_t(b)], kept, gradient, into.x, all[size_t(worker)], sums[size_t(part)], &stop);
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
std::vector<LayerWeights<T>> layers_of(const Matrices<T>& weights, const Vectors<T>& biases) {
    std::vector<LayerWeights<T>> made;
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
    const int64_t hidden = int64_t(weights[1].shape(1)), layers = int64_t(weights.size()) / 2;
    return {{int64_t(weights[0].shape(1)), hidden, layers, kernels.lanes, kernels.gates}, kernels, layers_of(weights, biases)};
}

template <class T>
InputBatch<T> given_of(const Array3<const T>& x, const Ids& lengths) {
    return {x.data(), lengths.data(), int64_t(x.shape(0)), int64_t(x.shape(1)), int64_t(x.shape(2))};
}

// Gives what the backward pass needs, or None.
template <class T>
nb::object forward_python(bool lstm, Matrices<const T> weights, Vectors<const T> biases, Array3<const T> x, Ids lengths, bool keep,
                          int64_t budget, int threads, Array2<T> out, Isa isa) {
    const Network<T> network = network_of<T>(lstm, isa, weights, biases);
    const InputBatch<T> given = given_of<T>(x, lengths);
    const Plan plan(network.sizes, given.lengths, given.items, budget);
    std::unique_ptr<ScratchBuffer> kept = keep ? std::make_unique<ScratchBuffer>(size_t(plan.kept) * sizeof(T)) : nullptr;
    T* const memory = keep ? static_cast<T*>(kept->memory()) : nullptr;
    ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) { forward<T>(network, given, plan, memory, out.data(), threads, poll); });
    return keep ? kept.release()->array<T>(size_t(plan.kept)) : nb::none();
}

template <class T>
void backward_python(bool lstm, Matrices<const T> weights, Vectors<const T> biases, Array3<const T> x, Ids lengths,
                     Array1<const T> kept, Array2<const T> gradient, int64_t budget, int threads, std::optional<Array3<T>> to_x,
                     Matrices<T> to_weights, Vectors<T> to_biases, Isa isa) {
    const Network<T> network = network_of<T>(lstm, isa, weights, biases);
    const InputBatch<T> given = given_of<T>(x, lengths);
    const Plan plan(network.sizes, given.lengths, given.items, budget);
    if (int64_t(kept.size()) != plan.kept) throw std::invalid_argument("what was kept is of other sequences");
    const GradientOutputs<T> into{to_x ? to_x->data() : nullptr, layers_of(to_weights, to_biases)};
    ProgressPoll{nb::none(), {}}.over(
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
