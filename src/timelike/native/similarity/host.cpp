// Pairs in tiles over threads: all of them, the best for every right row, or the largest of every group. And Python's side.
#include "similarity/table.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "machine/host.hpp"
#include "machine/memory.hpp"
#include "machine/pool.hpp"

namespace timelike {
namespace {

const SimilarityTable* const built[] = TIMELIKE_TABLES(similarity_table);

constexpr int64_t small = 1 << 21;  // units that are added up before a thread would have woken up
constexpr int64_t within = 1 << 18; // bytes of the rows of a tile on either side: both stay in the second cache
constexpr int64_t more = 4;         // times as many tasks as threads, so that none waits long for the last

int64_t pieces(int64_t whole, int64_t each) { return (whole + each - 1) / each; }

template <class T> const SimilarityKernels<T>& of(const SimilarityTable& table);
template <> const SimilarityKernels<float>& of(const SimilarityTable& table) { return table.of_float; }
template <> const SimilarityKernels<double>& of(const SimilarityTable& table) { return table.of_double; }

// Both sides as they came, (row, hidden), and what the second layer makes of a pair.
template <class T>
struct Sides {
    const T *left, *right;
    int64_t lefts, rights, hidden;
};

// The weights as the kernels want them.
template <class T>
struct Layer {
    std::vector<T> rest;                // (stride): 1 − s times the weights, then zeros
    std::vector<double> left, right;    // (hidden): what a unit adds to all pairs of its row
    double constant;

    Layer(const SimilarityKernels<T>& kernels, const T* weight, int64_t hidden, double slope, double constant)
        : rest(size_t(kernels.stride(hidden)), T(0)), left(size_t(hidden)), right(size_t(hidden)), constant(constant) {
        for (size_t h = 0; h < size_t(hidden); h++) {
            rest[h] = T((1 - slope) * double(weight[h]));
            left[h] = slope * double(weight[h]);
            right[h] = left[h] + double(rest[h]);  // what was rounded is added, so that it cancels where l + r < 0
        }
    }
};

// The memory of one worker: a tile's rows of either side, and its numbers.
template <class T>
class Workspace {
  public:
    Workspace(const SimilarityKernels<T>& kernels, const Sides<T>& sides, const Layer<T>& layer)
        : kernels_(kernels), sides_(sides), layer_(layer), stride_(kernels.stride(sides.hidden)), block_(block(sides.hidden)) {
        for (auto& values : values_) values = buffer<T>(kernels.filled(block_) * stride_);
        for (auto& offsets : offsets_) offsets = buffer<double>(block_);
        numbers_ = buffer<T>(block_ * block_);
    }

    // rows of a tile on either side
    static int64_t block(int64_t hidden) { return std::clamp<int64_t>(within / int64_t(sizeof(T)) / hidden / 16 * 16, 16, 256); }
    int64_t block() const { return block_; }

    void take_left(int64_t first, int64_t count) {
        const T* const rows = sides_.left + first * sides_.hidden;
        kernels_.offsets(rows, count, sides_.hidden, layer_.left.data(), layer_.constant, offsets_[0].get());
        // where they lie as the kernels read them, a copy would take a tenth of the time of a tile
        const bool whole = stride_ == sides_.hidden && kernels_.filled(count) == count;
        if (!whole) kernels_.fill(rows, count, sides_.hidden, T(1), values_[0].get());
        left_ = {whole ? rows : values_[0].get(), offsets_[0].get(), count};
    }
    void take_right(int64_t first, int64_t count) {
        const T* const rows = sides_.right + first * sides_.hidden;
        kernels_.offsets(rows, count, sides_.hidden, layer_.right.data(), 0, offsets_[1].get());
        kernels_.fill(rows, count, sides_.hidden, T(-1), values_[1].get());
        right_ = {values_[1].get(), offsets_[1].get(), count};
    }
    void into(T* out, int64_t down, int64_t across) const { kernels_.tile(left_, right_, layer_.rest.data(), stride_, out, down, across); }
    // (right, left): those of a right row beside each other
    const T* numbers() {
        into(numbers_.get(), 1, left_.count);
        return numbers_.get();
    }

  private:
    const SimilarityKernels<T>& kernels_;
    const Sides<T>& sides_;
    const Layer<T>& layer_;
    int64_t stride_, block_;
    Buffer<T> values_[2], numbers_;
    Buffer<double> offsets_[2];
    SimilarityRows<T> left_, right_;
};

// Threads that have a workspace each, and tasks: blocks of right rows, each with some parts of what is on the left.
template <class T>
class TileScheduler {
  public:
    TileScheduler(const SimilarityKernels<T>& kernels, const Sides<T>& sides, const Layer<T>& layer, int threads)
        : sides_(sides), threads_(sides.lefts * sides.rights * sides.hidden < small ? 0 : threads) {
        for (int w = 0; w < std::max(1, threads_); w++) workspaces_.emplace_back(kernels, sides, layer);
        block_ = workspaces_[0].block(), rights_ = pieces(sides.rights, block_);
    }

    int64_t block() const { return block_; }
    // parts of the left side that keep the threads busy, where there are few right rows
    int64_t parts(int64_t most) const {
        return std::clamp<int64_t>(pieces(more * std::max(1, threads_), std::max<int64_t>(rights_, 1)), 1, std::max<int64_t>(most, 1));
    }
    // work(workspace, part, first right row, number of them), whose rows have been taken
    template <class Work>
    void run(int64_t parts, const Poll& poll, const Work& work) {
        volatile bool stop = false;
        const auto one = [&](int64_t task, int worker) {
            Workspace<T>& workspace = workspaces_[size_t(worker)];
            const int64_t first = task / parts * block_, count = std::min(block_, sides_.rights - first);
            workspace.take_right(first, count);
            work(workspace, task % parts, first, count);
        };
        const int64_t tasks = rights_ * parts;
        run_tasks(tasks, threads_, one, [&](int64_t done) { return poll(done, tasks); }, &stop);
    }

  private:
    const Sides<T>& sides_;
    int threads_;
    int64_t block_, rights_;
    std::vector<Workspace<T>> workspaces_;
};

template <class T>
void scores(TileScheduler<T>& scheduler, const Sides<T>& sides, T* out, const Poll& poll) {
    const int64_t blocks = pieces(sides.lefts, scheduler.block()), parts = scheduler.parts(blocks);
    scheduler.run(parts, poll, [&](Workspace<T>& workspace, int64_t part, int64_t right, int64_t) {
        for (int64_t b = part * blocks / parts; b < (part + 1) * blocks / parts; b++) {
            const int64_t first = b * scheduler.block();
            workspace.take_left(first, std::min(scheduler.block(), sides.lefts - first));
            workspace.into(out + first * sides.rights + right, sides.rights, 1);
        }
    });
}

// A left row and its number. The larger number is better, and of equal ones the earlier row: who computed it is no matter.
template <class T>
struct RankedRow {
    T value;
    int64_t id;

    bool operator<(const RankedRow& other) const { return value > other.value || (value == other.value && id < other.id); }
};

// The k best so far, the best first; what is not a number is less than all others.
template <class T>
void add(RankedRow<T>* best, int64_t k, RankedRow<T> one) {
    if (std::isnan(one.value)) one.value = -std::numeric_limits<T>::infinity();
    if (!(one < best[k - 1])) return;
    int64_t at = k - 1;
    for (; at > 0 && one < best[at - 1]; at--) best[at] = best[at - 1];
    best[at] = one;
}

template <class T>
void best(TileScheduler<T>& scheduler, const Sides<T>& sides, int64_t k, T* values, int64_t* ids, const Poll& poll) {
    const int64_t blocks = pieces(sides.lefts, scheduler.block()), parts = scheduler.parts(blocks);
    const RankedRow<T> none{-std::numeric_limits<T>::infinity(), std::numeric_limits<int64_t>::max()};
    std::vector<RankedRow<T>> ranked(size_t(sides.rights * parts * k), none);  // (right, part, k)
    scheduler.run(parts, poll, [&](Workspace<T>& workspace, int64_t part, int64_t right, int64_t count) {
        for (int64_t b = part * blocks / parts; b < (part + 1) * blocks / parts; b++) {
            const int64_t first = b * scheduler.block(), lefts = std::min(scheduler.block(), sides.lefts - first);
            workspace.take_left(first, lefts);
            const T* const numbers = workspace.numbers();
            for (int64_t j = 0; j < count; j++)
                for (int64_t i = 0; i < lefts; i++) add(&ranked[size_t(((right + j) * parts + part) * k)], k, {numbers[j * lefts + i], first + i});
        }
    });
    for (int64_t j = 0; j < sides.rights; j++) {
        RankedRow<T>* const own = &ranked[size_t(j * parts * k)];
        for (int64_t i = k; i < parts * k; i++) add(own, k, own[i]);
        for (int64_t i = 0; i < k; i++) values[j * k + i] = own[i].value, ids[j * k + i] = own[i].id;
    }
}

// Group g is left rows starts[g] to starts[g + 1]; out (right, group).
template <class T>
void maxima(TileScheduler<T>& scheduler, const Sides<T>& sides, const int64_t* starts, int64_t groups, T* out, const Poll& poll) {
    const int64_t parts = scheduler.parts(groups);
    const auto end = [&](int64_t group) { return group + 1 < groups ? starts[group + 1] : sides.lefts; };
    scheduler.run(parts, poll, [&](Workspace<T>& workspace, int64_t part, int64_t right, int64_t count) {
        const int64_t from = part * groups / parts, to = (part + 1) * groups / parts;
        for (int64_t j = right; j < right + count; j++)
            std::fill(out + j * groups + from, out + j * groups + to, -std::numeric_limits<T>::infinity());
        for (int64_t first = starts[from], group = from, last = end(to - 1); first < last; first += scheduler.block()) {
            const int64_t lefts = std::min(scheduler.block(), last - first);
            workspace.take_left(first, lefts);
            const T* const numbers = workspace.numbers();
            while (end(group) <= first) group++;
            for (int64_t j = 0; j < count; j++) {
                int64_t g = group;
                for (int64_t i = 0; i < lefts; i++) {
                    while (end(g) <= first + i) g++;
                    T& largest = out[(right + j) * groups + g];
                    const T one = numbers[j * lefts + i];
                    if (!(one <= largest) && !std::isnan(largest)) largest = one;  // what is not a number stays
                }
            }
        }
    });
}

void refuse(bool wrong, const char* what) {
    if (wrong) throw std::invalid_argument(what);
}

template <class T> using Given = std::tuple<Array1<const T>, double, double>;  // Layer in Python: weight, slope, constant

template <class T>
Sides<T> sides(const Array2<const T>& left, const Array2<const T>& right, const Given<T>& given) {
    const size_t hidden = std::get<0>(given).size();
    refuse(left.shape(1) != hidden || right.shape(1) != hidden, "expected left and right (row, hidden) and weights (hidden,)");
    refuse(hidden == 0, "expected at least one hidden unit");
    return {left.data(), right.data(), int64_t(left.shape(0)), int64_t(right.shape(0)), int64_t(hidden)};
}

// Both sides on the scheduler, and work on it while Python may be interrupted.
template <class T, class Work>
void with_floor(const Sides<T>& sides, const Given<T>& given, int threads, const Isa& isa, const Work& work) {
    if (sides.lefts == 0 || sides.rights == 0) return;
    const SimilarityKernels<T>& kernels = of<T>(table_for(isa, built));
    const auto& [weight, slope, constant] = given;
    const Layer<T> layer(kernels, weight.data(), sides.hidden, slope, constant);
    ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
        TileScheduler<T> scheduler(kernels, sides, layer, threads);
        work(scheduler, poll);
    });
}

template <class T>
void define(nb::module_& module) {
    module.def(
        "similarity_scores",
        [](Array2<const T> left, Array2<const T> right, const Given<T>& given, int threads, Array2<T> out, Isa isa) {
            const Sides<T> both = sides(left, right, given);
            refuse(out.shape(0) != left.shape(0) || out.shape(1) != right.shape(0), "expected out (left, right)");
            with_floor(both, given, threads, isa, [&](TileScheduler<T>& scheduler, const Poll& poll) { scores(scheduler, both, out.data(), poll); });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::kw_only(), nb::arg("threads"), nb::arg("out").noconvert(),
        nb::arg("isa") = nb::none());
    module.def(
        "similarity_best",
        [](Array2<const T> left, Array2<const T> right, const Given<T>& given, int threads, Array2<T> values, Array2<int64_t> ids, Isa isa) {
            const Sides<T> both = sides(left, right, given);
            const int64_t k = int64_t(values.shape(1));
            refuse(values.shape(0) != right.shape(0) || ids.shape(0) != right.shape(0) || ids.shape(1) != values.shape(1),
                   "expected values and ids (right, k)");
            refuse(k < 1 || k > both.lefts, "expected k of at least 1 and at most as many as there are left rows");
            with_floor(both, given, threads, isa, [&](TileScheduler<T>& scheduler, const Poll& poll) { best(scheduler, both, k, values.data(), ids.data(), poll); });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::kw_only(), nb::arg("threads"), nb::arg("values").noconvert(), nb::arg("ids").noconvert(),
        nb::arg("isa") = nb::none());
    module.def(
        "similarity_maxima",
        [](Array2<const T> left, Array2<const T> right, const Given<T>& given, Ids starts, int threads, Array2<T> out, Isa isa) {
            const Sides<T> both = sides(left, right, given);
            const int64_t groups = int64_t(starts.size());
            bool rising = groups > 0 && starts(0) == 0 && starts(size_t(groups - 1)) < both.lefts;
            for (int64_t g = 1; g < groups; g++) rising &= starts(size_t(g)) > starts(size_t(g - 1));
            refuse(!rising, "expected starts that rise from 0 and are below the number of left rows");
            refuse(out.shape(0) != right.shape(0) || out.shape(1) != starts.size(), "expected out (right, group)");
            with_floor(both, given, threads, isa,
                       [&](TileScheduler<T>& scheduler, const Poll& poll) { maxima(scheduler, both, starts.data(), groups, out.data(), poll); });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::kw_only(), nb::arg("threads"), nb::arg("out").noconvert(),
        nb::arg("isa") = nb::none());
}

}  // namespace

void define_similarity(nb::module_& module) {
    define<float>(module);
    define<double>(module);
}

}  // namespace timelike
