// Soft-DTW of many pairs: groups of pairs over the threads, and Python's side of it. soft/__init__.py has checked
// everything.
#include "soft/table.hpp"

#include <atomic>
#include <type_traits>

#include "machine/host.hpp"
#include "machine/pool.hpp"
#include "soft/frames.hpp"

namespace timelike {
namespace {

constexpr const SoftTable* built[] = TIMELIKE_TABLES(soft_table);

template <class T>
const SoftKernels<T>& kernels(const Isa& isa) {
    const SoftTable& table = table_for(isa, built);
    if constexpr (std::is_same_v<T, float>) return table.f32;
    else return table.f64;
}

// The workers for so many cells: one alone works in the caller's place, unless it takes so long that Ctrl-C must be heard meanwhile.
int beside(int workers, int64_t cells) { return workers > 1 || cells > 1 << 22 ? workers : 0; }

// What all calls share: the recurrence, the lengths of every pair, and who works.
template <class T>
struct Batch {
    const SoftKernels<T>& kernel;
    Softness<T> soft;
    Window window;
    const int64_t *n, *m;  // (pair)
    int64_t count, cells;
    int threads;

    // Pairs of like lengths together, the longest first; every thread has a group if there are pairs enough. A result
    // depends on no other lane, so it does not depend on this.
    std::vector<std::vector<Lane>> groups() const {
        std::vector<Lane> lanes;
        for (int64_t p = 0; p < count; p++) lanes.push_back({p, n[p], m[p]});
        std::stable_sort(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.n != b.n ? a.n > b.n : a.m > b.m; });
        const int64_t width = kernel.lanes * (lanes[0].n < 32 ? 4 : 1);  // short diagonals: more pairs beside each other
        const int64_t parts = std::max((count + width - 1) / width, std::min<int64_t>(threads, count));
        std::vector<std::vector<Lane>> groups;
        for (int64_t g = 0; g < parts; g++)
            groups.emplace_back(lanes.begin() + g * count / parts, lanes.begin() + (g + 1) * count / parts);
        return groups;
    }

    template <class Work>
    void over_groups(const Work& work) const {
        if (count == 0) return;
        const auto lanes = groups();
        volatile bool stop = false;
        const int64_t tasks = int64_t(lanes.size());
        ProgressPoll{nb::none(), {}}.over([&](const auto& poll) {
            run_tasks(
                tasks, beside(int(std::min<int64_t>(threads, tasks)), cells),
                [&](int64_t task, int) {
                    const Sheet sheet(window, lanes[task], kernel.lanes);
                    work(task, Passes<T>{kernel, soft, sheet, &stop});
                },
                [&](int64_t done) { return poll(done, tasks); }, &stop);
        });
    }

    int64_t share_of(int64_t budget) const {
        return budget / std::max<int64_t>(1, std::min<int64_t>(threads, count)) / int64_t(sizeof(T));
    }
};

template <class T>
void note_ends(const Slab<T>& totals, int64_t begin, int64_t end, T* out) {
    const Sheet& sheet = *totals.sheet;
    for (int64_t l = 0; l < sheet.count(); l++) {
        const Lane& lane = sheet.lanes[l];
        if (begin <= lane.end() && lane.end() < end) out[lane.pair] = totals.at(lane.end())[(lane.n - 1) * sheet.count() + l];
    }
}

// The totals alone: a chunk of diagonals at a time, of which the last two are carried over.
template <class T, class Source>
void totals_only(const Passes<T>& passes, const Source& source, T* out) {
    const Sheet& sheet = passes.sheet;
    Buffer<T> memory = buffer<T>(passes.scratch_size(chunk));
    for (int64_t begin = 0; begin < sheet.diagonals && !*passes.stop; begin += chunk) {
        const int64_t end = std::min(sheet.diagonals, begin + chunk);
        const Slab<T> totals{&sheet, memory.get(), begin};
        if (begin == 0) totals.border(T(0), std::numeric_limits<T>::infinity());
        passes.forward(source, totals, begin, end);
        note_ends(totals, begin, end, out);
        const T* tail = memory.get() + sheet.size(begin - 2, end - 2);
        std::copy(tail, tail + sheet.size(end - 2, end), memory.get());
    }
}

template <class T, class Source, class Sink>
void visits(const Passes<T>& passes, const Source& source, const T* scales, int64_t budget, T* out, Sink& sink) {
    Blocks<T> blocks(passes, 1, budget);
    Flows<T> flows(passes.sheet);
    Buffer<T> scratch = buffer<T>(passes.scratch_size(chunk));
    blocks.run(
        [&](int64_t b, int64_t begin, int64_t end) {
            const Slab<T> totals = blocks.slab(0, b);
            if (b == 0) totals.border(T(0), std::numeric_limits<T>::infinity());
            passes.forward(source, totals, begin, end);
            if (out) note_ends(totals, begin, end, out);
        },
        [&](int64_t b, int64_t begin, int64_t end) {
            passes.backward(blocks.slab(0, b), flows, scales, scratch.get(), sink, begin, end);
        });
}

template <class T, class Source, class Sink>
void product(const Passes<T>& passes, const Source& source, const Source& direction, int64_t budget, Sink& sink) {
    Blocks<T> blocks(passes, 2, budget);
    Flows<T> flows(passes.sheet), turning(passes.sheet);
    Buffer<T> scratch = buffer<T>(passes.scratch_size(chunk));
    blocks.run(
        [&](int64_t b, int64_t begin, int64_t end) {
            const Slab<T> totals = blocks.slab(0, b), tangents = blocks.slab(1, b);
            if (b == 0) totals.border(T(0), std::numeric_limits<T>::infinity()), tangents.border(T(0), T(0));
            passes.forward(source, totals, begin, end);
            passes.tangent(direction, totals, tangents, begin, end);
        },
        [&](int64_t b, int64_t begin, int64_t end) {
            passes.turn(blocks.slab(0, b), blocks.slab(1, b), flows, turning, scratch.get(), sink, begin, end);
        });
}

// (gamma, shape, cells, share)
template <class T>
Batch<T> job(const nb::tuple& plan, const int64_t* n, const int64_t* m, int64_t count, int threads, const Isa& isa) {
    // what is 0 in this type becomes the least number that is not: 0 · inf is not a number
    const T gamma = std::max(T(nb::cast<double>(plan[0])), std::numeric_limits<T>::min());
    const Window window{Shape(nb::cast<int>(plan[1])), nb::cast<int64_t>(plan[2]), nb::cast<double>(plan[3])};

    int64_t cells = 0;
    for (int64_t p = 0; p < count; p++) cells += n[p] * m[p];
    // to wake a thread takes as long as this many cells
    const int useful = int(std::min<int64_t>(threads, 1 + cells / (1 << 16)));
    return {kernels<T>(isa), {gamma, T(1) / gamma}, window, n, m, count, cells, useful};
}

template <class T>
void totals_python(nb::tuple plan, Array3<const T> costs, Ids n, Ids m, Array1<T> out, int threads, Isa isa) {
    const Matrices<const T> source{costs.data(), int64_t(costs.shape(1)), int64_t(costs.shape(2))};
    job<T>(plan, n.data(), m.data(), int64_t(n.size()), threads, isa).over_groups([&](int64_t, const Passes<T>& passes) {
        totals_only(passes, source, out.data());
    });
}

template <class T>
void visits_python(nb::tuple plan, Array3<const T> costs, Ids n, Ids m, Array1<T> totals, Array3<T> out, int64_t budget,
                   int threads, Isa isa) {
    const Matrices<const T> source{costs.data(), int64_t(costs.shape(1)), int64_t(costs.shape(2))};
    const Matrices<T> sink{out.data(), source.n, source.m};
    const Batch<T> all = job<T>(plan, n.data(), m.data(), int64_t(n.size()), threads, isa);
    all.over_groups([&](int64_t, const Passes<T>& passes) {
        visits(passes, source, static_cast<const T*>(nullptr), all.share_of(budget), totals.data(), sink);
    });
}

template <class T>
void product_python(nb::tuple plan, Array3<const T> costs, Array3<const T> direction, Ids n, Ids m, Array3<T> out,
                    int64_t budget, int threads, Isa isa) {
    const Matrices<const T> source{costs.data(), int64_t(costs.shape(1)), int64_t(costs.shape(2))};
    const Matrices<const T> along{direction.data(), source.n, source.m};
    const Matrices<T> sink{out.data(), source.n, source.m};
    const Batch<T> all = job<T>(plan, n.data(), m.data(), int64_t(n.size()), threads, isa);
    all.over_groups([&](int64_t, const Passes<T>& passes) { product(passes, source, along, all.share_of(budget), sink); });
}

// Lengths of the pairs, looked up.
std::vector<int64_t> looked_up(const Ids& lengths, const Ids& positions) {
    std::vector<int64_t> found(positions.size());
    for (size_t p = 0; p < found.size(); p++) found[p] = lengths.data()[positions.data()[p]];
    return found;
}

template <class T>
void pairs_python(nb::tuple plan, Array2<const T> x, Ids x_starts, Ids x_lengths, Array2<const T> y, Ids y_starts,
                  Ids y_lengths, Ids rows, Ids columns, Array1<T> out, int threads, Isa isa) {
    const auto n = looked_up(x_lengths, rows), m = looked_up(y_lengths, columns);
    const PackedSequences<T> first = packed_sequences<T>(x, x_starts, x_lengths), second = packed_sequences<T>(y, y_starts, y_lengths);
    job<T>(plan, n.data(), m.data(), int64_t(n.size()), threads, isa).over_groups([&](int64_t, const Passes<T>& passes) {
        totals_only(passes, Frames<T>(passes.kernel, passes.sheet, first, second, rows.data(), columns.data()), out.data());
    });
}

// TableCache of a training step are let go and asked for again at the next; fresh memory would cost a page fault for every 4 KB, a
// fifth of the whole. So the last ones are kept if they are small.
class TableCache {
  public:
    explicit TableCache(size_t bytes) : bytes_(bytes) {
        TableCache* held = spare.exchange(nullptr);
        if (held && held->bytes_ >= bytes && held->bytes_ / 2 <= bytes) bytes_ = held->bytes_, memory_ = std::move(held->memory_);
        else memory_ = buffer<char>(int64_t(bytes));
        delete held;
    }
    void* memory() const { return memory_.get(); }
    static void let_go(void* tables) noexcept {
        TableCache* held = static_cast<TableCache*>(tables);
        delete (held->bytes_ <= largest_kept ? spare.exchange(held) : held);
    }

  private:
    static constexpr size_t largest_kept = size_t(1) << 24;
    static inline std::atomic<TableCache*> spare{nullptr};
    size_t bytes_;
    Buffer<char> memory_;
};

// Where the table of each group begins among those of all, in numbers.
template <class T>
std::vector<int64_t> places(const Batch<T>& all) {
    std::vector<int64_t> begins{0};
    if (all.count == 0) return begins;
    for (auto& lanes : all.groups()) {
        const Sheet sheet(all.window, std::move(lanes), all.kernel.lanes);
        begins.push_back(begins.back() + sheet.size(-2, sheet.diagonals));
    }
    return begins;
}

// Totals of pair after pair, with the whole tables if they are no larger than `budget`: the backward pass begins with them.
template <class T>
nb::object keep_python(nb::tuple plan, Array2<const T> x, Ids x_starts, Ids x_lengths, Array2<const T> y,
                       Ids y_starts, Ids y_lengths, Array1<T> out, int64_t budget, int threads, Isa isa) {
    const PackedSequences<T> first = packed_sequences<T>(x, x_starts, x_lengths), second = packed_sequences<T>(y, y_starts, y_lengths);
    const Batch<T> all = job<T>(plan, first.lengths, second.lengths, first.count, threads, isa);
    const std::vector<int64_t> begins = places(all);
    if (begins.back() * int64_t(sizeof(T)) > budget) {
        all.over_groups([&](int64_t, const Passes<T>& passes) {
            totals_only(passes, Frames<T>(passes.kernel, passes.sheet, first, second, nullptr, nullptr), out.data());
        });
        return nb::none();
    }
    TableCache* tables = new TableCache(size_t(begins.back()) * sizeof(T));
    nb::capsule owner(tables, TableCache::let_go);
    T* memory = static_cast<T*>(tables->memory());
    all.over_groups([&](int64_t group, const Passes<T>& passes) {
        const Slab<T> totals{&passes.sheet, memory + begins[group], 0};
        totals.border(T(0), std::numeric_limits<T>::infinity());
        const Frames<T> frames(passes.kernel, passes.sheet, first, second, nullptr, nullptr);
        passes.forward(frames, totals, 0, passes.sheet.diagonals);
        note_ends(totals, 0, passes.sheet.diagonals, out.data());
    });
    const size_t shape[1] = {size_t(begins.back())};
    return nb::cast(nb::ndarray<nb::numpy, T>(memory, 1, shape, owner));
}

template <class T>
void gradients_python(nb::tuple plan, Array2<const T> x, Ids x_starts, Ids x_lengths, Array2<const T> y,
                      Ids y_starts, Ids y_lengths, Array1<const T> scales, std::optional<Array1<T>> tables,
                      std::optional<Array2<T>> x_gradient, std::optional<Array2<T>> y_gradient, int64_t budget, int threads,
                      Isa isa) {
    const PackedSequences<T> first = packed_sequences<T>(x, x_starts, x_lengths), second = packed_sequences<T>(y, y_starts, y_lengths);
    const Batch<T> all = job<T>(plan, first.lengths, second.lengths, first.count, threads, isa);
    const std::vector<int64_t> begins = tables ? places(all) : std::vector<int64_t>();
    all.over_groups([&](int64_t group, const Passes<T>& passes) {
        Frames<T> frames(passes.kernel, passes.sheet, first, second, nullptr, nullptr);
        frames.x_wanted = x_gradient.has_value(), frames.y_wanted = y_gradient.has_value();
        if (tables) {
            Flows<T> flows(passes.sheet);
            Buffer<T> scratch = buffer<T>(passes.scratch_size(chunk));
            const Slab<T> totals{&passes.sheet, tables->data() + begins[group], 0};
            passes.backward(totals, flows, scales.data(), scratch.get(), frames, 0, passes.sheet.diagonals);
        } else {
            visits(passes, frames, scales.data(), all.share_of(budget), static_cast<T*>(nullptr), frames);
        }
        if (!*passes.stop) frames.give(first, second, x_gradient ? x_gradient->data() : nullptr, y_gradient ? y_gradient->data() : nullptr);
    });
}

// Squared distances of the first n frames of x and the first m of y, pair by pair; the rest of `out` is left as it is.
template <class T>
void costs_python(Array3<const T> x, Array3<const T> y, Ids n, Ids m, Array3<T> out, int threads, Isa isa) {
    const SoftKernels<T>& kernel = kernels<T>(isa);
    const int64_t pairs = int64_t(x.shape(0)), rows = int64_t(x.shape(1)), columns = int64_t(y.shape(1));
    const int64_t channels = int64_t(x.shape(2));
    volatile bool stop = false;
    const auto work = [&](int64_t p, int) {
        const int64_t used = m.data()[p];
        std::vector<T> turned(channels * used + kernel.lanes);
        for (int64_t j = 0; j < used; j++)
            for (int64_t c = 0; c < channels; c++) turned[c * used + j] = y.data()[(p * columns + j) * channels + c];
        for (int64_t i = 0; i < n.data()[p] && !stop; i++)
            kernel.row(x.data() + (p * rows + i) * channels, turned.data(), channels, used, used,
                       out.data() + (p * rows + i) * columns);
    };
    const int workers = beside(int(std::min<int64_t>(threads, pairs)), pairs * rows * columns);
    ProgressPoll{nb::none(), {}}.over([&](const auto& poll) {
        run_tasks(pairs, workers, work, [&](int64_t done) { return poll(done, pairs); }, &stop);
    });
}

template <class T>
void define_for(nb::module_& module) {
    const auto fixed = nb::arg().noconvert();
    module.def("soft_totals", &totals_python<T>, nb::arg(), fixed, fixed, fixed, fixed, nb::arg(), nb::arg("isa") = nb::none());
    module.def("soft_visits", &visits_python<T>, nb::arg(), fixed, fixed, fixed, fixed, fixed, nb::arg(), nb::arg(),
               nb::arg("isa") = nb::none());
    module.def("soft_product", &product_python<T>, nb::arg(), fixed, fixed, fixed, fixed, fixed, nb::arg(), nb::arg(),
               nb::arg("isa") = nb::none());
    module.def("soft_pairs", &pairs_python<T>, nb::arg(), fixed, fixed, fixed, fixed, fixed, fixed, fixed, fixed, fixed,
               nb::arg(), nb::arg("isa") = nb::none());
    module.def("soft_keep", &keep_python<T>, nb::arg(), fixed, fixed, fixed, fixed, fixed, fixed, fixed, nb::arg(), nb::arg(),
               nb::arg("isa") = nb::none());
    module.def("soft_gradients", &gradients_python<T>, nb::arg(), fixed, fixed, fixed, fixed, fixed, fixed, fixed,
               nb::arg().noconvert().none(), nb::arg().noconvert().none(), nb::arg().noconvert().none(), nb::arg(), nb::arg(),
               nb::arg("isa") = nb::none());
    module.def("soft_costs", &costs_python<T>, fixed, fixed, fixed, fixed, fixed, nb::arg(), nb::arg("isa") = nb::none());
}

}  // namespace

void define_soft(nb::module_& module) {
    define_for<double>(module);
    define_for<float>(module);
}

}  // namespace timelike
