// The gradients of distances by coupled GRUs, and of their mean gates. The pairs are cut into chunks that depend on nothing but the pairs; each adds up its own
// part, and the parts are added in order, so that neither threads nor luck change a bit.
#include <cstring>

#include "coupled/registers.hpp"
#include "coupled/pair_list.hpp"
#include "machine/pool.hpp"

namespace timelike {
namespace {

// What is requested: by the inputs, laid out as these (that of y is null where y is x), and by the parameters as torch has them.
template <class T>
struct Gradients {
    T *x, *y, *recurrent, *coupling, *candidate, *coupling_bias;
};

// Where each chunk puts the gradients by the inputs. A sequence that one chunk alone meets has its place in the result, any other one
// in the memory of every chunk that meets it.
template <class T>
class GradientSlots {
  public:
    GradientSlots(const PairList<T>& pairs, const Registers<T>& registers, int64_t chunks, const Gradients<T>& into)
        : chunks(chunks), count(pairs.x.count + (into.y ? pairs.y.count : 0)), sizes(size_t(chunks), 0), pairs_(pairs), into_(into),
          first_of_y_(into.y ? pairs.x.count : 0), shared_(size_t(count), 0), begins_(size_t(chunks * count), -1) {
        std::vector<int64_t> met(size_t(count), -1);
        over(registers, [&](int64_t chunk, int64_t sequence) {
            if (met[size_t(sequence)] >= 0 && met[size_t(sequence)] != chunk) shared_[size_t(sequence)] = 1;
            met[size_t(sequence)] = chunk;
        });
        over(registers, [&](int64_t chunk, int64_t sequence) {
            int64_t& begin = begins_[size_t(chunk * count + sequence)];
            if (begin >= 0 || !shared_[size_t(sequence)]) return;
            begin = sizes[size_t(chunk)], sizes[size_t(chunk)] += size(sequence);
        });
    }
    int64_t first(int64_t chunk, int64_t registers) const { return chunk * registers / chunks; }
    int64_t number(bool of_y, int64_t item) const { return of_y ? first_of_y_ + item : item; }
    T* at(int64_t chunk, int64_t sequence, T* memory) const {
        const int64_t begin = begins_[size_t(chunk * count + sequence)];
        return begin < 0 ? result(sequence) : memory + begin;
    }
    void add_up(int64_t sequence, const std::vector<Buffer<T>>& memories) const {
        if (!shared_[size_t(sequence)]) return;
        T* const into = result(sequence);
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            const int64_t begin = begins_[size_t(chunk * count + sequence)];
            if (begin < 0) continue;
            const T* part = memories[size_t(chunk)].get() + begin;
            for (int64_t k = 0; k < size(sequence); k++) into[k] += part[k];
        }
    }
    int64_t bytes() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t(0)) * int64_t(sizeof(T)); }

    const int64_t chunks, count;  // of sequences, those of x first
    std::vector<int64_t> sizes;   // (chunk) the memory it needs

  private:
    template <class Visit>
    void over(const Registers<T>& registers, const Visit& visit) const {
        for (int64_t chunk = 0; chunk < chunks; chunk++)
            for (int64_t r = first(chunk, registers.count); r < first(chunk + 1, registers.count); r++)
                for (int l = 0; l < registers.used(r); l++) {
                    const int64_t pair = registers.pair(r, l);
                    visit(chunk, number(false, pairs_.first[pair])), visit(chunk, number(true, pairs_.second[pair]));
                }
    }
    bool of_y(int64_t sequence) const { return into_.y && sequence >= first_of_y_; }
    int64_t size(int64_t sequence) const {
        return (of_y(sequence) ? pairs_.y.lengths[sequence - first_of_y_] : pairs_.x.lengths[sequence]) * pairs_.x.channels;
    }
    T* result(int64_t sequence) const {
        return of_y(sequence) ? into_.y + pairs_.y.starts[sequence - first_of_y_] * pairs_.y.channels
                              : into_.x + pairs_.x.starts[sequence] * pairs_.x.channels;
    }

    PairList<T> pairs_;
    Gradients<T> into_;
    int64_t first_of_y_;
    std::vector<char> shared_;     // (sequence)
    std::vector<int64_t> begins_;  // (chunk, sequence)
};

// The memory of one worker.
template <class T>
struct BackwardWorkspace {
    BackwardWorkspace(int lanes, int64_t hidden)
        : pairs(lanes, hidden), states(zeros((coupled_stretch + 1) * 2 * hidden + coupled_slack, lanes)),
          gates(zeros(coupled_stretch * 9 * hidden + coupled_slack, lanes)), onward(zeros(2 * hidden, lanes)), scales(zeros(1, lanes)),
          by_gate(zeros(1, lanes)), into(size_t(lanes)) {}
    static Buffer<T> zeros(int64_t count, int lanes) {
        Buffer<T> made = buffer<T>(count * lanes);
        std::fill_n(made.get(), count * lanes, T(0));
        return made;
    }
    LanePairs<T> pairs;
    Buffer<T> states, gates, onward, scales, by_gate;
    std::vector<T*> into;
};

template <class T>
struct Task {
    const Parameters<T>& p;
    const PairList<T>& pairs;
    const Registers<T>& registers;
    const CoupledPairKernels<T>& kernels;
    const T* scales;       // (pair)
    const T* gate_scales;  // (pair), or null
    const T* kept;
};

// The backward pass of one register of pairs, into the memory of its chunk.
template <class T>
void backward_register(const Task<T>& task, const CoupledCell<T>& cell, const T* weights, int64_t r, BackwardWorkspace<T>& workspace, const GradientSlots<T>& slots,
             int64_t chunk, T* memory, T* by_weights, const volatile bool* stop) {
    const int64_t hidden = cell.hidden, lanes = task.kernels.lanes, size = 2 * hidden * lanes;
    workspace.pairs.take(task.pairs, task.registers, r);
    std::fill_n(workspace.onward.get(), size, T(0));
    for (int l = 0; l < lanes; l++) {
        const bool used = l < task.registers.used(r);
        const T scale = used ? task.scales[task.registers.pair(r, l)] : T(0);
        workspace.by_gate[size_t(l)] =
            used && task.gate_scales ? task.gate_scales[task.registers.pair(r, l)] / workspace.pairs.gates(l, hidden) : T(0);
        workspace.scales[size_t(l)] = cell.mean ? scale / T(std::max(workspace.pairs.x.lengths[size_t(l)], workspace.pairs.y.lengths[size_t(l)])) : scale;
    }
    for (int64_t part = (workspace.pairs.steps - 1) / coupled_stretch; part >= 0 && !*stop; part--) {
        const int64_t begin = part * coupled_stretch;
        if (part) std::memcpy(workspace.states.get(), task.kept + task.registers.begins[size_t(r)] + (part - 1) * size, size_t(size) * sizeof(T));
        else std::fill_n(workspace.states.get(), size, T(0));
        task.kernels.backward(cell, workspace.pairs.stretch(task.kernels, hidden, begin),
                              {weights, workspace.scales.get(), workspace.by_gate.get(), workspace.states.get(), workspace.gates.get(), workspace.onward.get(),
                               by_weights, by_weights + 4 * hidden * hidden});
        for (const bool of_y : {false, true}) {
            const LaneInputs<T>& side = of_y ? workspace.pairs.y : workspace.pairs.x;
            for (int l = 0; l < lanes; l++)
                workspace.into[size_t(l)] = slots.at(chunk, slots.number(of_y, side.items[size_t(l)]), memory) +
                                       std::min(begin, side.lengths[size_t(l)]) * 3 * hidden;
            task.kernels.scatter(workspace.gates.get() + (of_y ? 5 : 1) * hidden * lanes, 9 * hidden, 3 * hidden, side.steps.data(),
                                workspace.into.data());
        }
    }
}

// Chunks of a few registers, of which there are never more than memory allows.
template <class T>
GradientSlots<T> placed(const PairList<T>& pairs, const Registers<T>& registers, const Gradients<T>& into, int64_t budget) {
    // not as many as there are threads: the number decides the order of the sums
    for (int64_t chunks = std::clamp<int64_t>(registers.count / 5, 1, 16);; chunks /= 2) {
        GradientSlots<T> slots(pairs, registers, chunks, into);
        if (chunks == 1 || slots.bytes() <= budget) return slots;
    }
}

template <class T>
void add_parts(const std::vector<Buffer<T>>& parts, int64_t hidden, const Gradients<T>& into) {
    const int64_t square = hidden * hidden;
    for (const Buffer<T>& part : parts) {
        const T *fresh = part.get(), *gates = fresh + square, *coupling = gates + 2 * square, *biases = coupling + square;
        for (int64_t k = 0; k < 2 * square; k++) into.recurrent[k] += gates[k];
        for (int64_t k = 0; k < square; k++) into.recurrent[2 * square + k] += fresh[k], into.coupling[k] += coupling[k];
        for (int64_t k = 0; k < hidden; k++) into.candidate[k] += biases[k], into.coupling_bias[k] += biases[hidden + k];
    }
}

// `into` holds zeros.
template <class T>
void all_gradients(const Task<T>& task, const Gradients<T>& into, int64_t budget, int threads, const Poll& poll) {
    const Parameters<T>& p = task.p;
    const PackedWeights<T> packed(p, task.kernels.block);
    const Buffer<T> weights = buffer<T>(4 * p.hidden * p.hidden);
    constexpr int64_t gates[4] = {2, 0, 1, 3};  // n r z c
    in_blocks(p.hidden, task.kernels.width, weights.get(), [&](int64_t k, int64_t u, int64_t gate) { return p.weight(gates[gate], u, k); });
    const GradientSlots<T> slots = placed(task.pairs, task.registers, into, budget);
    threads = useful_threads(threads, double(task.pairs.count), double(std::max(longest(task.pairs.x), longest(task.pairs.y))), double(p.hidden));
    std::vector<BackwardWorkspace<T>> make_workspaces;
    for (int worker = 0; worker < std::max(1, threads); worker++) make_workspaces.emplace_back(task.kernels.lanes, p.hidden);
    const int64_t size = 4 * p.hidden * p.hidden + 2 * p.hidden;
    std::vector<Buffer<T>> memories, parts;  // made here, where a lack of memory is an exception and not the end
    for (const int64_t some : slots.sizes) memories.push_back(buffer<T>(some)), parts.push_back(buffer<T>(size));
    volatile bool stop = false;
    const auto work = [&](int64_t chunk, int worker) {
        T *const memory = memories[size_t(chunk)].get(), *const part = parts[size_t(chunk)].get();
        std::fill_n(memory, slots.sizes[size_t(chunk)], T(0)), std::fill_n(part, size, T(0));
        const int64_t end = slots.first(chunk + 1, task.registers.count);
        for (int64_t r = slots.first(chunk, task.registers.count); r < end && !stop; r++)
            backward_register(task, packed.cell, weights.get(), r, make_workspaces[size_t(worker)], slots, chunk, memory, part, &stop);
    };
    if (!run_tasks(slots.chunks, threads, work, [&](int64_t done) { return poll(done, slots.chunks); }, &stop)) return;
    run_tasks(slots.count, threads, [&](int64_t sequence, int) { slots.add_up(sequence, memories); },
              [&](int64_t) { return poll(slots.chunks, slots.chunks); }, &stop);
    add_parts(parts, p.hidden, into);
}

template <class T>
void gradients_python(Array2<const T> recurrent, Array2<const T> coupling, Array1<const T> candidate, Array1<const T> coupling_bias,
                      bool mean, Array2<const T> x, Ids x_starts, Ids x_lengths, Array2<const T> y, Ids y_starts, Ids y_lengths,
                      Ids first, Ids second, Array1<const T> scales, Array1<const T> kept, Array2<T> by_x, std::optional<Array2<T>> by_y,
                      Array2<T> by_recurrent, Array2<T> by_coupling, Array1<T> by_candidate, Array1<T> by_coupling_bias,
                      std::optional<Array1<const T>> gate_scales, int64_t budget, int threads, nb::object report, Isa isa) {
    const Parameters<T> p{recurrent.data(), coupling.data(), candidate.data(), coupling_bias.data(), int64_t(candidate.size()), mean};
    const PairList<T> pairs{packed_sequences<T>(x, x_starts, x_lengths), packed_sequences<T>(y, y_starts, y_lengths), first.data(), second.data(),
                          int64_t(first.size())};
    const Gradients<T> into{by_x.data(), by_y ? by_y->data() : nullptr, by_recurrent.data(), by_coupling.data(), by_candidate.data(),
                            by_coupling_bias.data()};
    const CoupledPairKernels<T>& kernels = pair_kernels<T>(isa);
    const Registers<T> registers(pairs, kernels.lanes, p.hidden);
    if (int64_t(kept.size()) != registers.begins.back()) throw std::invalid_argument("the states kept are of other pairs");
    const Task<T> task{p, pairs, registers, kernels, scales.data(), gate_scales ? gate_scales->data() : nullptr, kept.data()};
    ProgressPoll{report, {}}.over([&](const Poll& poll) { all_gradients(task, into, budget, threads, poll); });
}

template <class T>
void define_for(nb::module_& module) {
    const auto fixed = nb::arg().noconvert();
    module.def("coupled_gradients", &gradients_python<T>, fixed, fixed, fixed, fixed, nb::arg(), fixed, fixed, fixed, fixed, fixed, fixed,
               fixed, fixed, fixed, fixed, fixed, nb::arg().noconvert().none(), fixed, fixed, fixed, fixed, nb::kw_only(),
               nb::arg("gate_scales").noconvert().none() = nb::none(), nb::arg("budget"), nb::arg("threads"), nb::arg("report").none(), nb::arg("isa") = nb::none());
}

}  // namespace

void define_coupled_gradients(nb::module_& module) {
    define_for<float>(module);
    define_for<double>(module);
}

}  // namespace timelike
