// Coupled GRUs over a list of pairs: the distances, the mean gates and, if a gradient will be needed, the states between stretches of
// steps.
#include "coupled/pair_list.hpp"

#include <cstring>

#include "coupled/registers.hpp"
#include "machine/pool.hpp"

namespace timelike {
namespace {

// The memory of one worker.
template <class T>
struct ForwardWorkspace {
    ForwardWorkspace(int lanes, int64_t hidden)
        : pairs(lanes, hidden), states(buffer<T>(2 * hidden * lanes)), scratch(buffer<T>(2 * hidden * lanes)), totals(buffer<T>(lanes)),
          gates(buffer<T>(lanes)), distances(size_t(lanes)) {}
    LanePairs<T> pairs;
    Buffer<T> states, scratch, totals, gates;
    std::vector<T> distances;
};

// `gates`, where given, is (pair); `kept`, where given, has room for the states before every stretch but the first.
template <class T>
void pair_list_distances(const Parameters<T>& p, const PairList<T>& pairs, const Registers<T>& registers, const CoupledPairKernels<T>& kernels,
                  int threads, T* out, T* gates, T* kept, const Poll& poll) {
    const PackedWeights<T> packed(p, kernels.block);
    const int64_t size = 2 * p.hidden * kernels.lanes;
    threads = useful_threads(threads, double(pairs.count), double(std::max(longest(pairs.x), longest(pairs.y))), double(p.hidden));
    std::vector<ForwardWorkspace<T>> workspaces;
    for (int worker = 0; worker < std::max(1, threads); worker++) workspaces.emplace_back(kernels.lanes, p.hidden);
    volatile bool stop = false;
    const auto work = [&](int64_t r, int worker) {
        ForwardWorkspace<T>& workspace = workspaces[size_t(worker)];
        workspace.pairs.take(pairs, registers, r);
        std::fill_n(workspace.states.get(), size, T(0)), std::fill_n(workspace.totals.get(), kernels.lanes, T(0));
        std::fill_n(workspace.gates.get(), kernels.lanes, T(0));
        T* keep = kept ? kept + registers.begins[size_t(r)] : nullptr;
        for (int64_t begin = 0; begin < workspace.pairs.steps && !stop; begin += coupled_stretch) {
            if (keep && begin) std::memcpy(keep, workspace.states.get(), size_t(size) * sizeof(T)), keep += size;
            kernels.forward(packed.cell, workspace.pairs.stretch(kernels, p.hidden, begin), workspace.states.get(), workspace.scratch.get(),
                            workspace.totals.get(), workspace.gates.get());
        }
        kernels.write_distances(packed.cell, workspace.states.get(), workspace.totals.get(), workspace.pairs.x.lengths.data(), workspace.pairs.y.lengths.data(),
                     workspace.distances.data());
        for (int l = 0; l < registers.used(r); l++) out[registers.pair(r, l)] = workspace.distances[size_t(l)];
        for (int l = 0; gates && l < registers.used(r); l++)
            gates[registers.pair(r, l)] = workspace.gates[size_t(l)] / workspace.pairs.gates(l, p.hidden);
    };
    run_tasks(registers.count, threads, work, [&](int64_t done) { return poll(done, registers.count); }, &stop);
}

template <class T>
nb::object rows_python(Array2<const T> recurrent, Array2<const T> coupling, Array1<const T> candidate, Array1<const T> coupling_bias,
                       bool mean, Array2<const T> x, Ids x_starts, Ids x_lengths, Array2<const T> y, Ids y_starts, Ids y_lengths,
                       Ids first, Ids second, bool keep, int threads, Array1<T> out, std::optional<Array1<T>> gates, nb::object report,
                       Isa isa) {
    const Parameters<T> p{recurrent.data(), coupling.data(), candidate.data(), coupling_bias.data(), int64_t(candidate.size()), mean};
    const PairList<T> pairs{packed_sequences<T>(x, x_starts, x_lengths), packed_sequences<T>(y, y_starts, y_lengths), first.data(), second.data(),
                          int64_t(first.size())};
    const CoupledPairKernels<T>& kernels = pair_kernels<T>(isa);
    const Registers<T> registers(pairs, kernels.lanes, p.hidden);
    const size_t size[1] = {keep ? size_t(registers.begins.back()) : 0};
    Buffer<T> kept = buffer<T>(int64_t(size[0]));
    ProgressPoll{report, {}}.over([&](const Poll& poll) {
        pair_list_distances(p, pairs, registers, kernels, threads, out.data(), gates ? gates->data() : nullptr, keep ? kept.get() : nullptr, poll);
    });
    if (!keep) return nb::none();
    T* const memory = kept.release();
    nb::capsule owner(memory, [](void* held) noexcept { AlignedDelete()(held); });
    return nb::cast(nb::ndarray<nb::numpy, T>(memory, 1, size, owner));
}

template <class T>
void define_for(nb::module_& module) {
    const auto fixed = nb::arg().noconvert();
    module.def("coupled_rows", &rows_python<T>, fixed, fixed, fixed, fixed, nb::arg(), fixed, fixed, fixed, fixed, fixed, fixed, fixed,
               fixed, nb::kw_only(), nb::arg("keep") = false, nb::arg("threads"), nb::arg("out").noconvert(),
               nb::arg("gates").noconvert().none() = nb::none(), nb::arg("report").none(), nb::arg("isa") = nb::none());
}

}  // namespace

void define_coupled_listed(nb::module_& module) {
    module.attr("coupled_stretch") = coupled_stretch;
    define_for<float>(module);
    define_for<double>(module);
}

}  // namespace timelike
