// Coupled GRUs over all pairs of two collections, without gradients: lanes, scratch memory, threads, and Python's side of it.
#include "coupled/table.hpp"

#include <algorithm>
#include <vector>

#include "coupled/weights.hpp"
#include "machine/pool.hpp"

namespace timelike {
namespace {

constexpr const CoupledTable* built[] = TIMELIKE_TABLES(coupled_table);

template <class T> const CoupledKernels<T>& kernels_of(const CoupledTable& table);
template <> const CoupledKernels<float>& kernels_of(const CoupledTable& table) { return table.f32; }
template <> const CoupledKernels<double>& kernels_of(const CoupledTable& table) { return table.f64; }

// Sequences side by side, one in each lane; lanes without one repeat the last. It grows with what is put in.
template <class T>
class LaneSequences {
  public:
    explicit LaneSequences(int lanes) : lengths(size_t(lanes)), lanes_(lanes) {}

    void fill(const PackedSequences<T>& from, const int64_t* items, int used, const volatile bool* stop) {
        steps = 0;
        for (int l = 0; l < lanes_; l++) {
            lengths[size_t(l)] = from.lengths[items[std::min(l, used - 1)]];
            steps = std::max(steps, lengths[size_t(l)]);
        }
        const int64_t features = from.channels, size = steps * features * lanes_;
        if (size > size_) values_ = buffer<T>(size_ = size);
        for (int l = 0; l < lanes_ && !*stop; l++) {
            const int64_t item = items[std::min(l, used - 1)], count = from.lengths[item] * features;
            const T* values = from.values + from.starts[item] * features;
            T* into = values_.get() + l;
            // in pieces: the first lane of long sequences meets gigabytes of fresh memory
            for (int64_t from = 0; from < count && !*stop; from += 1 << 16)
                for (int64_t k = from; k < std::min<int64_t>(count, from + (1 << 16)); k++) into[k * lanes_] = values[k];
            for (int64_t k = count; k < steps * features; k++) into[k * lanes_] = 0;
        }
    }
    const T* values() const { return values_.get(); }

    std::vector<int64_t> lengths;
    int64_t steps = 0;

  private:
    int lanes_;
    int64_t size_ = 0;
    Buffer<T> values_;
};

// The memory of one worker.
template <class T>
struct Workspace {
    Workspace(int lanes, int64_t hidden)
        : y(lanes), repeated(size_t(lanes)), scratch(buffer<T>(4 * hidden * lanes)), distances(buffer<T>(lanes)) {}
    LaneSequences<T> y;
    std::vector<int64_t> repeated;
    Buffer<T> scratch, distances;
};

template <class T>
std::vector<Workspace<T>> make_workspaces(const CoupledKernels<T>& kernels, int64_t hidden, int threads) {
    std::vector<Workspace<T>> made;
    for (int worker = 0; worker < std::max(1, threads); worker++) made.emplace_back(kernels.lanes, hidden);
    return made;
}

// out[i × row + j × column] is the distance of x[i] and y[j]; y is in the lanes.
template <class T>
struct Matrix {
    PackedSequences<T> x, y;
    bool symmetric;
    T* out;
    int64_t row, column;
};

// Exchanging the two changes no bit, so whichever fills the lanes better is put there.
template <class T>
Matrix<T> oriented(const Matrix<T>& m, int64_t lanes) {
    return m.y.count < lanes && m.x.count > m.y.count ? Matrix<T>{m.y, m.x, m.symmetric, m.out, m.column, m.row} : m;
}

template <class T>
void all_pairs(const Parameters<T>& p, const Matrix<T>& given, const CoupledKernels<T>& kernels, int threads, const Poll& poll) {
    constexpr int64_t rows = 32;  // of x, for each register of y: laying out y is little beside it
    const PackedWeights<T> packed(p, kernels.block);
    const Matrix<T> m = oriented(given, kernels.lanes);
    const std::vector<int64_t> x_order = by_length(m.x), y_order = m.symmetric ? x_order : by_length(m.y);
    const int64_t groups = (m.y.count + kernels.lanes - 1) / kernels.lanes, blocks = (m.x.count + rows - 1) / rows;
    threads = useful_threads(threads, double(m.x.count) * double(m.y.count), double(std::max(longest(m.x), longest(m.y))), double(p.hidden));
    std::vector<Workspace<T>> all = make_workspaces(kernels, p.hidden, threads);
    volatile bool stop = false;
    const auto work = [&](int64_t task, int worker) {
        const int64_t block = task % blocks, first = task / blocks * kernels.lanes;
        const int used = int(std::min<int64_t>(kernels.lanes, m.y.count - first));
        // of a symmetric matrix the pairs whose x comes no earlier than their register, which is all of them once
        const int64_t begin = std::max(block * rows, m.symmetric ? first : 0), end = std::min(m.x.count, (block + 1) * rows);
        if (begin >= end) return;
        Workspace<T>& workspace = all[size_t(worker)];
        workspace.y.fill(m.y, y_order.data() + first, used, &stop);
        for (int64_t position = begin; position < end && !stop; position++) {
            const int64_t i = x_order[size_t(position)], length = m.x.lengths[i];
            std::fill(workspace.repeated.begin(), workspace.repeated.end(), length);
            kernels.roll(packed.cell,
                         {m.x.values + m.x.starts[i] * m.x.channels, workspace.y.values(), workspace.repeated.data(), workspace.y.lengths.data(),
                          length, workspace.y.steps},
                         workspace.scratch.get(), workspace.distances.get(), &stop);
            for (int l = 0; l < used; l++) {
                const int64_t j = y_order[size_t(first + l)];
                m.out[i * m.row + j * m.column] = workspace.distances[size_t(l)];
                if (m.symmetric) m.out[j * m.row + i * m.column] = workspace.distances[size_t(l)];
            }
        }
    };
    run_tasks(groups * blocks, threads, work, [&](int64_t done) { return poll(done, groups * blocks); }, &stop);
}

}  // namespace

template <class T>
static void define_for(nb::module_& module) {
    using Weights = Array2<const T>;
    using Line = Array1<const T>;
    module.def(
        "coupled_matrix",
        [](Weights recurrent, Weights coupling, Line candidate, Line coupling_bias, bool mean, Array2<const T> x, Ids x_starts,
           Ids x_lengths, Array2<const T> y, Ids y_starts, Ids y_lengths, bool symmetric, int threads, Array2<T> out, nb::object report,
           Isa isa) {
            const Parameters<T> p{recurrent.data(), coupling.data(), candidate.data(), coupling_bias.data(), int64_t(candidate.size()), mean};
            const Matrix<T> matrix{packed_sequences<T>(x, x_starts, x_lengths), packed_sequences<T>(y, y_starts, y_lengths), symmetric, out.data(),
                                   int64_t(y_lengths.size()), 1};
            const CoupledKernels<T>& kernels = kernels_of<T>(table_for(isa, built));
            ProgressPoll{report, {}}.over([&](const Poll& poll) { all_pairs(p, matrix, kernels, threads, poll); });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::kw_only(), nb::arg("symmetric"), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("report").none(),
        nb::arg("isa") = nb::none());
}

void define_coupled_matrix(nb::module_& module) {
    define_for<float>(module);
    define_for<double>(module);
}

}  // namespace timelike
