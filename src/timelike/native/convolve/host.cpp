// Stacks of convolutions over the tables of many pairs: weights at the points, threads, and Python's side of it.
#include "convolve/table.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <list>
#include <vector>

#include "machine/host.hpp"
#include "machine/memory.hpp"
#include "machine/pool.hpp"

namespace timelike {
namespace {

using Numbers = std::vector<float>;

constexpr const ConvolveTable* built[] = TIMELIKE_TABLES(convolve_table);

// x^k divided by Π (x − other points), for 0, ±1, ±2, ±½ and k below `size`; at ∞ the last coefficient
class Powers {
  public:
    explicit Powers(int64_t size) : size_(size) {
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

    // a kernel (row, column) at the places, rows first
    void evaluate(const double* kernel, double* at_places) const {
        for (int64_t ky = 0; ky < size_; ky++)
            for (int h = 0; h < points; h++) {
                half_[ky][h] = 0;
                for (int64_t kx = 0; kx < size_; kx++) half_[ky][h] += (*this)(h, kx) * kernel[ky * size_ + kx];
            }
        for (int h = 0; h < points; h++)
            for (int p = 0; p < points; p++) {
                double sum = 0;
                for (int64_t ky = 0; ky < size_; ky++) sum += (*this)(p, ky) * half_[ky][h];
                at_places[p * points + h] = sum;
            }
    }
    // its transpose: gradients at the places to those of the kernel
    void evaluate_back(const double* at_places, double* kernel) const {
        for (int64_t ky = 0; ky < size_; ky++)
            for (int h = 0; h < points; h++) {
                half_[ky][h] = 0;
                for (int p = 0; p < points; p++) half_[ky][h] += (*this)(p, ky) * at_places[p * points + h];
            }
        for (int64_t ky = 0; ky < size_; ky++)
            for (int64_t kx = 0; kx < size_; kx++) {
                double sum = 0;
                for (int h = 0; h < points; h++) sum += (*this)(h, kx) * half_[ky][h];
                kernel[ky * size_ + kx] = sum;
            }
    }

  private:
    int64_t size_;
    std::vector<double> at_;
    mutable double half_[7][points];
};

// The weights of a layer, (output, input, row, column).
struct Weights {
    const float* values;
    int64_t outputs, inputs, size;

    float at(int64_t o, int64_t i, int64_t ky, int64_t kx) const { return values[((o * inputs + i) * size + ky) * size + kx]; }
};

int64_t padded(int64_t width, int lanes) { return (width + lanes - 1) / lanes * lanes; }

// (place, input, output padded) of weights that are read by a function (output, input, row, column)
template <class LastInputs>
Numbers at_places(int64_t outputs, int64_t inputs, int64_t size, int64_t channels, const LastInputs& read) {
    const Powers powers(size);
    Numbers out(size_t(places * inputs * channels));
    double kernel[49], found[places];
    for (int64_t i = 0; i < inputs; i++)
        for (int64_t o = 0; o < outputs; o++) {
            for (int64_t k = 0; k < size * size; k++) kernel[k] = double(read(o, i, k / size, k % size));
            powers.evaluate(kernel, found);
            for (int place = 0; place < places; place++) out[size_t((place * inputs + i) * channels + o)] = float(found[place]);
        }
    return out;
}

// (row, column, channel padded) of weights to or from one channel, read by a function (channel, row, column)
template <class LastInputs>
Numbers taps(int64_t width, int64_t size, int64_t channels, const LastInputs& read) {
    Numbers out(size_t(size * size * channels));
    for (int64_t k = 0; k < size * size; k++)
        for (int64_t c = 0; c < width; c++) out[size_t(k * channels + c)] = read(c, k / size, k % size);
    return out;
}

// What a stack needs, in the order in which the kernels read it.
class PackedWeights {
  public:
    // products of the layers below `needed`
    PackedWeights(const std::vector<Weights>& layers, const std::vector<const float*>& biases, int lanes, size_t needed) {
        const Weights &first = layers[0], &end = layers.back();
        const int64_t channels = padded(first.outputs, lanes);
        for (size_t l = 0; l < layers.size(); l++) {
            const Weights& w = layers[l];
            numbers_.emplace_back(size_t(l + 1 < layers.size() ? channels : 1));
            std::copy(biases[l], biases[l] + w.outputs, numbers_.back().begin());
            biases_.push_back(numbers_.back().data());
            if (l >= needed) continue;
            numbers_.push_back(at_places(w.outputs, w.inputs, w.size, channels, [&](auto o, auto i, auto ky, auto kx) { return w.at(o, i, ky, kx); }));
            products_.push_back(numbers_.back().data());
        }
        numbers_.push_back(taps(end.inputs, end.size, channels, [&](auto c, auto ky, auto kx) { return end.at(0, c, ky, kx); }));
        stack = {int64_t(layers.size()), first.outputs, channels, first.size, end.size, products_.data(), biases_.data(), numbers_.back().data()};
    }
    PackedWeights(const PackedWeights&) = delete;

    Stack stack;

  private:
    std::vector<const float*> biases_, products_;
    std::list<Numbers> numbers_;
};

// The backward pass: from outputs to inputs, the kernels turned round; from the first layer only to the distances.
class TransposedWeights {
  public:
    TransposedWeights(const std::vector<Weights>& layers, int64_t channels) {
        products.push_back(nullptr);
        for (size_t l = 1; l + 1 < layers.size(); l++) {
            const Weights& w = layers[l];
            numbers_.push_back(at_places(w.inputs, w.outputs, w.size, channels, [&](int64_t i, int64_t o, int64_t ky, int64_t kx) {
                return w.at(o, i, w.size - 1 - ky, w.size - 1 - kx);
            }));
            products.push_back(numbers_.back().data());
        }
        const Weights& w = layers[0];
        first = taps(w.outputs, w.size, channels, [&](auto c, auto ky, auto kx) { return w.at(c, 0, w.size - 1 - ky, w.size - 1 - kx); });
    }
    std::vector<const float*> products;
    Numbers first;

  private:
    std::list<Numbers> numbers_;
};

// Tables (pair, row, column) of which each pair has its own size.
struct Tables {
    const float *distances, *positions;
    const int64_t *rows, *columns;
    int64_t pairs, n, m;

    Grid grid(int64_t pair) const {
        return {distances + pair * n * m, positions + pair * n * m, rows[pair], columns[pair], m};
    }
};

std::vector<Buffer<float>> make_workspaces(const ConvolveTable& kernels, const Stack& stack, const Tables& tables, bool gradients, int threads) {
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
        if (tables.columns[p] == 0) continue;
        const int64_t rows = kernels.block(stack, tables.rows[p], tables.columns[p]);
        for (int64_t y = 0; y < tables.rows[p]; y += rows) tasks.push_back({p, y});
    }
    const std::vector<Buffer<float>> all = make_workspaces(kernels, stack, tables, false, threads);
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
    explicit Sums(const Stack& stack) {
        for (int64_t l = 0; l < stack.layers; l++) {
            biases.emplace_back(size_t(l + 1 < stack.layers ? stack.channels : 1));
            if (l + 1 < stack.layers) at_places.emplace_back(size_t(places * stack.inputs(l) * stack.channels));
        }
        last.resize(size_t(stack.channels * stack.last_size * stack.last_size));
    }
    std::vector<Numbers> at_places, biases;
    Numbers last;
};

struct Addresses {
    Addresses(Sums& of) : last(of.last.data()) {
        for (Numbers& one : of.at_places) at_places.push_back(one.data());
        for (Numbers& one : of.biases) biases.push_back(one.data());
    }
    std::vector<float*> at_places, biases;
    float* last;
};

// Where the gradients of a layer go.
struct GradientOutputs {
    float *weights, *bias;
};

// The sums of a part of all, in double precision and in turn.
template <class Part>
std::vector<double> summed(const std::vector<Sums>& sums, const Part& part) {
    std::vector<double> out(part(sums[0]).size());
    for (const Sums& one : sums)
        for (size_t k = 0; k < out.size(); k++) out[k] += double(part(one)[k]);
    return out;
}

// Gradients at the places, (place, input, output padded), to those of the weights.
void from_places(const std::vector<double>& found, const Weights& w, int64_t channels, float* into) {
    const Powers powers(w.size);
    double at_places[places], kernel[49];
    for (int64_t o = 0; o < w.outputs; o++)
        for (int64_t i = 0; i < w.inputs; i++) {
            for (int place = 0; place < places; place++) at_places[place] = found[size_t((place * w.inputs + i) * channels + o)];
            powers.evaluate_back(at_places, kernel);
            for (int64_t k = 0; k < w.size * w.size; k++) *into++ = float(kernel[k]);
        }
}

void collect(const std::vector<Sums>& sums, const std::vector<Weights>& layers, int64_t channels, const std::vector<GradientOutputs>& wanted) {
    for (size_t l = 0; l < layers.size(); l++) {
        const Weights& w = layers[l];
        const std::vector<double> biases = summed(sums, [&](const Sums& one) -> const Numbers& { return one.biases[l]; });
        std::transform(biases.begin(), biases.begin() + w.outputs, wanted[l].bias, [](double value) { return float(value); });
        if (l + 1 < layers.size()) {
            from_places(summed(sums, [&](const Sums& one) -> const Numbers& { return one.at_places[l]; }), w, channels, wanted[l].weights);
            continue;
        }
        const std::vector<double> last = summed(sums, [](const Sums& one) -> const Numbers& { return one.last; });
        for (int64_t c = 0; c < w.inputs; c++)
            for (int64_t k = 0; k < w.size * w.size; k++) wanted[l].weights[c * w.size * w.size + k] = float(last[size_t(k * channels + c)]);
    }
}

// Where runs of pairs begin and end whose gradients are summed in turn, before their sums are: no result depends on threads. Neither
// many, as each has sums of its own, nor small ones, which would take less time than these.
std::vector<int64_t> chunks_of(const Tables& tables) {
    constexpr int64_t most = 16, least = 1 << 12;  // chunks, and steps of a chunk
    int64_t steps = 0, done = 0;
    for (int64_t p = 0; p < tables.pairs; p++) steps += tables.rows[p] * tables.columns[p];
    const int64_t enough = std::max(least, (steps + most - 1) / most);
    std::vector<int64_t> bounds{0};
    for (int64_t p = 0; p < tables.pairs; p++) {
        done += tables.rows[p] * tables.columns[p];
        if (done >= enough || p + 1 == tables.pairs) bounds.push_back(p + 1), done = 0;
    }
    return bounds;
}

void backward(const ConvolveTable& kernels, const Stack& stack, const std::vector<Weights>& layers, const Tables& tables,
              const float* gradient, const float* kept, const int64_t* starts, float* out, const std::vector<GradientOutputs>& wanted, int threads,
              const Poll& poll) {
    const std::vector<int64_t> bounds = chunks_of(tables);
    const int64_t chunks = int64_t(bounds.size()) - 1;
    const TransposedWeights back(layers, stack.channels);
    std::vector<Sums> sums(size_t(std::max<int64_t>(1, chunks)), Sums(stack));
    std::vector<Addresses> addresses(sums.begin(), sums.end());
    const std::vector<Buffer<float>> all = make_workspaces(kernels, stack, tables, true, threads);
    volatile bool stop = false;
    const auto work = [&](int64_t chunk, int worker) {
        const Addresses& own = addresses[size_t(chunk)];
        const StackGradients into{back.products.data(), back.first.data(), own.at_places.data(), own.biases.data(), own.last};
        for (int64_t p = bounds[size_t(chunk)]; p < bounds[size_t(chunk) + 1] && !stop; p++) {
            if (tables.columns[p] == 0) continue;
            const int64_t offset = p * tables.n * tables.m;
            kernels.backward(stack, into, tables.grid(p), gradient + offset, kept ? kept + starts[p] : nullptr, out ? out + offset : nullptr,
                             all[size_t(worker)].get(), &stop);
        }
    };
    run_tasks(chunks, threads, work, [&](int64_t done) { return poll(done, chunks); }, &stop);
    if (!stop) collect(sums, layers, stack.channels, wanted);
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

static void refuse_short(const Stack& stack, const Tables& tables, size_t size, const Ids& starts) {
    for (int64_t p = 0; p < tables.pairs; p++)
        if (starts.data()[p] + tables.rows[p] * tables.columns[p] * stack.channels > int64_t(size))
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
        [](int64_t width, Ids rows, Ids columns, Array1<int64_t> out, Isa isa) {
            const int64_t channels = padded(width, table_for(isa, built).lanes);
            for (size_t p = 0; p < rows.size(); p++) out.data()[p] = rows.data()[p] * columns.data()[p] * channels;
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg("out").noconvert(),
        nb::arg("isa") = nb::none());
    module.def(
        "convolve_forward",
        [](Layers layers, Biases biases, Pairs distances, Pairs positions, Ids rows, Ids columns, std::optional<Array1<float>> kept,
           std::optional<Ids> starts, int threads, Array3<float> out, Isa isa) {
            const ConvolveTable& kernels = table_for(isa, built);
            const PackedWeights packed(weights_of(layers), biases_of(biases), kernels.lanes, layers.size() - 1);
            const Tables tables = tables_of(distances, positions, rows, columns);
            if (kept) refuse_short(packed.stack, tables, kept->size(), *starts);
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
                forward(kernels, packed.stack, tables, out.data(), kept ? kept->data() : nullptr, kept ? starts->data() : nullptr, threads, poll);
            });
        },
        nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().none(), nb::arg().none(), nb::kw_only(), nb::arg("threads"), nb::arg("out").noconvert(),
        nb::arg("isa") = nb::none());
    module.def(
        "convolve_backward",
        [](Layers layers, Biases biases, Pairs distances, Pairs positions, Ids rows, Ids columns, std::optional<Array1<const float>> kept,
           std::optional<Ids> starts, Pairs gradient, int threads, std::optional<Array3<float>> out, std::vector<Array4<float>> to_weights,
           std::vector<Array1<float>> to_biases, Isa isa) {
            const ConvolveTable& kernels = table_for(isa, built);
            const std::vector<Weights> weights = weights_of(layers);
            const PackedWeights packed(weights, biases_of(biases), kernels.lanes, layers.size() - (kept ? 2 : 1));
            const Tables tables = tables_of(distances, positions, rows, columns);
            if (kept) refuse_short(packed.stack, tables, kept->size(), *starts);
            std::vector<GradientOutputs> wanted;
            for (size_t l = 0; l < weights.size(); l++) wanted.push_back({to_weights[l].data(), to_biases[l].data()});
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
                backward(kernels, packed.stack, weights, tables, gradient.data(), kept ? kept->data() : nullptr,
                         kept ? starts->data() : nullptr, out ? out->data() : nullptr, wanted, threads, poll);
            });
        },
        nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert().none(), nb::arg().noconvert().none(), nb::arg().noconvert(), nb::kw_only(), nb::arg("threads"),
        nb::arg("out").noconvert().none(), nb::arg("to_weights").noconvert(), nb::arg("to_biases").noconvert(), nb::arg("isa") = nb::none());
}

}  // namespace timelike
