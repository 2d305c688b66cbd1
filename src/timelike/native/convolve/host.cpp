// Stacks of convolutions over the tables of many pairs: weights at the points, threads, and Python's side of it.
#include "convolve/table.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "machine/host.hpp"
#include "machine/memory.hpp"
#include "machine/pool.hpp"

namespace timelike {
namespace {

using Numbers = std::vector<float>;

constexpr const ConvolveTable* built[] = TIMELIKE_TABLES(convolve_table);

// x^k divided by Π (x − other points), for 0, ±1, ±2, ±½ and k below `size`; at ∞ the last coefficient
class Values {
  public:
    explicit Values(int64_t size) : size_(size) {
        constexpr double where[points - 1] = {0, 1, -1, 2, -2, 0.5, -0.5};
        for (int point = 0; point < points; point++) {
            double value = 1;
            for (int other = 0; point < points - 1 && other < points - 1; other++)
                if (other != point) value /= where[point] - where[other];
            for (int64_t k = 0; k < size; k++) {
                at_.push_back(point < points - 1 ? value : double(k == size - 1));
                if (point < points - 1) value *= where[point];
            }
        }
    }
    double operator()(int point, int64_t power) const { return at_[size_t(point * size_ + power)]; }

  private:
    int64_t size_;
    std::vector<double> at_;
};

// The weights of a layer, (output, input, row, column).
struct Weights {
    const float* values;
    int64_t outputs, inputs, size;

    float at(int64_t o, int64_t i, int64_t ky, int64_t kx) const { return values[((o * inputs + i) * size + ky) * size + kx]; }
};

// (point, group of outputs, row, input, output of the group) of weights that are read by a function (output, input, row, column)
template <class Read>
Numbers arranged(int64_t outputs, int64_t inputs, int64_t size, int group, const Read& read) {
    const Values value(size);
    Numbers out;
    out.reserve(size_t(points * outputs * inputs * size));
    for (int p = 0; p < points; p++)
        for (int64_t first = 0; first < outputs; first += group)
            for (int64_t ky = 0; ky < size; ky++)
                for (int64_t i = 0; i < inputs; i++)
                    for (int64_t o = first; o < std::min(outputs, first + group); o++) {
                        double sum = 0;
                        for (int64_t kx = 0; kx < size; kx++) sum += value(p, kx) * double(read(o, i, ky, kx));
                        out.push_back(float(sum));
                    }
    return out;
}

// What a stack needs, in the order in which the kernels read it; the way back reads no weights as they are.
class Packed {
  public:
    Packed(const std::vector<Weights>& layers, std::vector<const float*> biases, int group, bool forwards) : biases_(std::move(biases)) {
        for (size_t l = 0; forwards && l + 1 < layers.size(); l++) {
            const Weights& w = layers[l];
            forwards_.push_back(arranged(w.outputs, w.inputs, w.size, group, [&](auto o, auto i, auto ky, auto kx) { return w.at(o, i, ky, kx); }));
        }
        for (const Numbers& one : forwards_) pointers_.push_back(one.data());
        stack = {int64_t(layers.size()), layers[0].outputs, layers[0].size, layers.back().size, pointers_.data(), biases_.data(), layers.back().values};
    }
    Packed(const Packed&) = delete;

    Stack stack;

  private:
    std::vector<const float*> biases_, pointers_;
    std::vector<Numbers> forwards_;
};

// From outputs to inputs, the kernels turned round; from the first layer only to the distances.
std::vector<Numbers> turned(const std::vector<Weights>& layers, int group) {
    std::vector<Numbers> out;
    for (size_t l = 0; l + 1 < layers.size(); l++) {
        const Weights& w = layers[l];
        const auto read = [&](int64_t i, int64_t o, int64_t ky, int64_t kx) { return w.at(o, i, w.size - 1 - ky, w.size - 1 - kx); };
        out.push_back(arranged(l ? w.inputs : 1, w.outputs, w.size, group, read));
    }
    return out;
}

// Tables (pair, row, column) of which each pair has its own size.
struct Tables {
    const float *distances, *positions;
    const int64_t *rows, *columns;
    int64_t pairs, n, m;

    Grid grid(int64_t pair) const {
        return {distances + pair * n * m, positions + pair * n * m, rows[pair], columns[pair], m};
    }
};

std::vector<Buffer<float>> desks(const ConvolveTable& kernels, const Stack& stack, const Tables& tables, bool gradients, int threads) {
    int64_t most = 0;
    for (int64_t p = 0; p < tables.pairs; p++)
        if (tables.columns[p] > 0) most = std::max(most, kernels.scratch(stack, tables.rows[p], tables.columns[p], gradients));
    std::vector<Buffer<float>> made;
    for (int worker = 0; worker < std::max(1, threads); worker++) made.push_back(buffer<float>(most));
    return made;
}

void forward(const ConvolveTable& kernels, const Stack& stack, const Tables& tables, float* out, float* kept, const int64_t* starts,
             int threads, const Poll& poll) {
    struct Task {
        int64_t pair, first;
    };
    std::vector<Task> tasks;
    for (int64_t p = 0; p < tables.pairs; p++) {
        const int64_t rows = kept ? tables.rows[p] : kernels.block(stack, tables.rows[p], tables.columns[p]);
        for (int64_t y = 0; y < tables.rows[p] && tables.columns[p] > 0; y += rows) tasks.push_back({p, y});
    }
    const std::vector<Buffer<float>> all = desks(kernels, stack, tables, kept != nullptr, threads);
    volatile bool stop = false;
    const auto work = [&](int64_t task, int worker) {
        const auto [pair, first] = tasks[size_t(task)];
        kernels.forward(stack, tables.grid(pair), first, out + pair * tables.n * tables.m, kept ? kept + starts[pair] : nullptr,
                        all[size_t(worker)].get(), &stop);
    };
    run_tasks(int64_t(tasks.size()), threads, work, [&](int64_t done) { return poll(done, int64_t(tasks.size())); }, &stop);
}

// The gradients of the weights, summed over some of the pairs.
class Sums {
  public:
    Sums(const Stack& stack, int lanes) {
        const int64_t padded = (stack.width + lanes - 1) / lanes * lanes;
        for (int64_t l = 0; l < stack.layers; l++) {
            biases.emplace_back(size_t(l + 1 < stack.layers ? stack.width : 1));
            if (l + 1 < stack.layers) at_points.emplace_back(size_t(points * stack.size * stack.inputs(l) * padded));
        }
        last.resize(size_t(stack.width * stack.last_size * stack.last_size));
    }
    std::vector<Numbers> at_points, biases;
    Numbers last;
};

struct Addresses {
    Addresses(Sums& of) : last(of.last.data()) {
        for (Numbers& one : of.at_points) at_points.push_back(one.data());
        for (Numbers& one : of.biases) biases.push_back(one.data());
    }
    std::vector<float*> at_points, biases;
    float* last;
};

// Where the gradients of a layer go.
struct Wanted {
    float *weights, *bias;
};

void collect(const std::vector<Sums>& sums, const std::vector<Weights>& layers, int lanes, const std::vector<Wanted>& wanted) {
    const auto summed = [&](const auto& part, size_t count, float* into) {
        for (size_t k = 0; k < count; k++) {
            double sum = 0;
            for (const Sums& one : sums) sum += double(part(one)[k]);
            into[k] = float(sum);
        }
    };
    for (size_t l = 0; l < layers.size(); l++) {
        const Weights& w = layers[l];
        summed([&](const Sums& one) { return one.biases[l].data(); }, size_t(w.outputs), wanted[l].bias);
        if (l + 1 == layers.size()) {
            summed([](const Sums& one) { return one.last.data(); }, sums[0].last.size(), wanted[l].weights);
            continue;
        }
        const int64_t padded = (w.outputs + lanes - 1) / lanes * lanes;
        Numbers whole(sums[0].at_points[l].size());
        summed([&](const Sums& one) { return one.at_points[l].data(); }, whole.size(), whole.data());
        const Values value(w.size);
        float* into = wanted[l].weights;
        for (int64_t o = 0; o < w.outputs; o++)
            for (int64_t i = 0; i < w.inputs; i++)
                for (int64_t ky = 0; ky < w.size; ky++)
                    for (int64_t kx = 0; kx < w.size; kx++) {
                        double sum = 0;
                        for (int p = 0; p < points; p++)
                            sum += value(p, kx) * double(whole[size_t(((p * w.size + ky) * w.inputs + i) * padded + o)]);
                        *into++ = float(sum);
                    }
    }
}

void backward(const ConvolveTable& kernels, const Stack& stack, const std::vector<Weights>& layers, const Tables& tables,
              const float* gradient, const float* kept, const int64_t* starts, float* out, const std::vector<Wanted>& wanted, int threads,
              const Poll& poll) {
    // pairs summed in turn, then their sums in turn: no result depends on threads, and few sums are kept
    const int64_t together = std::max<int64_t>(8, (tables.pairs + 15) / 16);
    const int64_t chunks = (tables.pairs + together - 1) / together;
    const std::vector<Numbers> back = turned(layers, kernels.outputs);
    std::vector<const float*> products;
    for (const Numbers& one : back) products.push_back(one.data());
    std::vector<Sums> sums(size_t(std::max<int64_t>(1, chunks)), Sums(stack, kernels.lanes));
    std::vector<Addresses> addresses(sums.begin(), sums.end());
    const std::vector<Buffer<float>> all = desks(kernels, stack, tables, true, threads);
    volatile bool stop = false;
    const auto work = [&](int64_t chunk, int worker) {
        const Addresses& own = addresses[size_t(chunk)];
        const StackGradients into{products.data(), own.at_points.data(), own.biases.data(), own.last};
        for (int64_t p = chunk * together; p < std::min(tables.pairs, (chunk + 1) * together) && !stop; p++) {
            if (tables.columns[p] == 0) continue;
            const int64_t offset = p * tables.n * tables.m;
            kernels.backward(stack, into, tables.grid(p), gradient + offset, kept + starts[p], out + offset, all[size_t(worker)].get(),
                             &stop);
        }
    };
    run_tasks(chunks, threads, work, [&](int64_t done) { return poll(done, chunks); }, &stop);
    if (!stop) collect(sums, layers, kernels.lanes, wanted);
}

}  // namespace

using Layers = std::vector<Array4<const float>>;
using Biases = std::vector<Array1<const float>>;
using Pairs = Array3<const float>;

static std::vector<Weights> weights_of(const Layers& layers) {
    std::vector<Weights> out;
    for (const auto& w : layers) out.push_back({w.data(), int64_t(w.shape(0)), int64_t(w.shape(1)), int64_t(w.shape(2))});
    const int64_t size = out.size() < 2 || out.size() > 9 ? 0 : out[0].size, last = size == 5 ? 3 : 5;
    const bool inner = std::all_of(out.begin(), out.end() - (out.empty() ? 0 : 1), [&](const Weights& w) { return w.size == size; });
    if ((size != 5 && size != 7) || !inner || out.back().size != last)
        throw std::invalid_argument("layers of these sizes have no kernels: expected 5 … 5 3 or 7 … 7 5");
    return out;
}

static void refuse_short(const ConvolveTable& kernels, const Stack& stack, const Tables& tables, size_t size, const Ids& starts) {
    for (int64_t p = 0; p < tables.pairs; p++)
        if (starts.data()[p] + kernels.kept(stack, tables.rows[p], tables.columns[p]) > int64_t(size))
            throw std::invalid_argument("kept has too little room");
}

static std::vector<const float*> biases_of(const Biases& biases) {
    std::vector<const float*> out;
    for (const auto& b : biases) out.push_back(b.data());
    return out;
}

static Tables tables_of(const Pairs& distances, const Pairs& positions, const Ids& rows, const Ids& columns) {
    return {distances.data(), positions.data(), rows.data(), columns.data(), int64_t(rows.size()), int64_t(distances.shape(1)),
            int64_t(distances.shape(2))};
}

void define_convolve(nb::module_& module) {
    module.def(
        "convolve_kept",
        [](int64_t layers, int64_t width, int64_t size, int64_t last_size, Ids rows, Ids columns, Array1<int64_t> out, Isa isa) {
            const ConvolveTable& kernels = table_for(isa, built);
            const Stack stack{layers, width, size, last_size, nullptr, nullptr, nullptr};
            for (size_t p = 0; p < rows.size(); p++) out.data()[p] = kernels.kept(stack, rows.data()[p], columns.data()[p]);
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg("out").noconvert(),
        nb::arg("isa") = nb::none());
    module.def(
        "convolve_forward",
        [](Layers layers, Biases biases, Pairs distances, Pairs positions, Ids rows, Ids columns, std::optional<Array1<float>> kept,
           std::optional<Ids> starts, int threads, Array3<float> out, Isa isa) {
            const ConvolveTable& kernels = table_for(isa, built);
            const Packed packed(weights_of(layers), biases_of(biases), kernels.outputs, true);
            const Tables tables = tables_of(distances, positions, rows, columns);
            if (kept) refuse_short(kernels, packed.stack, tables, kept->size(), *starts);
            Watch{nb::none(), {}}.over([&](const Poll& poll) {
                forward(kernels, packed.stack, tables, out.data(), kept ? kept->data() : nullptr, kept ? starts->data() : nullptr, threads, poll);
            });
        },
        nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().none(), nb::arg().none(), nb::kw_only(), nb::arg("threads"), nb::arg("out").noconvert(),
        nb::arg("isa") = nb::none());
    module.def(
        "convolve_backward",
        [](Layers layers, Biases biases, Pairs distances, Pairs positions, Ids rows, Ids columns, Array1<const float> kept,
           Ids starts, Pairs gradient, int threads, Array3<float> out, std::vector<Array4<float>> to_weights,
           std::vector<Array1<float>> to_biases, Isa isa) {
            const ConvolveTable& kernels = table_for(isa, built);
            const std::vector<Weights> weights = weights_of(layers);
            const Packed packed(weights, biases_of(biases), kernels.outputs, false);
            const Tables tables = tables_of(distances, positions, rows, columns);
            refuse_short(kernels, packed.stack, tables, kept.size(), starts);
            std::vector<Wanted> wanted;
            for (size_t l = 0; l < weights.size(); l++) wanted.push_back({to_weights[l].data(), to_biases[l].data()});
            Watch{nb::none(), {}}.over([&](const Poll& poll) {
                backward(kernels, packed.stack, weights, tables, gradient.data(), kept.data(), starts.data(), out.data(), wanted, threads, poll);
            });
        },
        nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::kw_only(), nb::arg("threads"),
        nb::arg("out").noconvert(), nb::arg("to_weights").noconvert(), nb::arg("to_biases").noconvert(), nb::arg("isa") = nb::none());
}

}  // namespace timelike
