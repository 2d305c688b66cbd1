// Pairs of sequences, or ground costs already made, over threads: orientation, scratch memory, and Python's side of both.
#include "transport/table.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "machine/host.hpp"
#include "machine/memory.hpp"
#include "machine/length_order.hpp"
#include "machine/pool.hpp"

namespace timelike {
namespace {

constexpr const TransportTable* built[] = TIMELIKE_TABLES(transport_table);
constexpr const PlanTable* plans_built[] = TIMELIKE_TABLES(plan_table);

struct SolverLimits {
    double epsilon, tolerance;
    int64_t rounds;
};

// A pair whose marginals are off by more than the tolerance; the worst of all, with how many there are.
struct ConvergenceFailure {
    int64_t count = 0, row = 0, column = 0;
    double deviation = 0;

    void add(const ConvergenceFailure& other) {
        const bool worse = other.deviation > deviation ||
                           (other.deviation == deviation && std::make_pair(other.row, other.column) < std::make_pair(row, column));
        count += other.count;
        if (other.count && (worse || count == other.count)) row = other.row, column = other.column, deviation = other.deviation;
    }
};

// The memory of one worker.
class Workspace {
  public:
    Workspace(const TransportTable& table, int64_t n, int64_t m, int64_t channels, const SolverLimits& effort, const volatile bool* stop)
        : table_(table) {
        // whichever side has fewer steps is the columns
        const int64_t rows = std::max(n, m), stride = rounded(std::min(n, m));
        costs_ = buffer<double>(rows * stride), frames_ = buffer<double>(rows * stride), plan_ = buffer<double>(rows * stride);
        normal_ = buffer<double>(stride * stride), vectors_ = buffer<double>(5 * stride + 2 * rows);
        lined_ = buffer<double>(channels * stride);
        q_ = {0, 0, 0, costs_.get(), plan_.get(), normal_.get(), vectors_.get(), effort.epsilon, effort.tolerance, effort.rounds, stop};
    }

    static int64_t rounded(int64_t m) { return (m + transport_lanes - 1) / transport_lanes * transport_lanes; }
    static constexpr double overflowed = INFINITY;

    // The cost of one pair, its plan (n, m) where there is a place for it, and the deviation of its marginals.
    double pair(const double* x, int64_t n, const double* y, int64_t m, int64_t channels, Cost cost, const Prior& prior, double* plan,
                double* deviation) {
        // one of the two orders, whichever is requested: a distance is symmetric to the last bit
        const bool turned = n < m || (n == m && std::lexicographical_compare(y, y + m * channels, x, x + n * channels));
        if (turned) std::swap(x, y), std::swap(n, m);
        shape(n, m);
        for (int64_t c = 0; c < channels; c++)
            for (int64_t j = 0; j < q_.stride; j++) lined_[c * q_.stride + j] = j < m ? y[j * channels + c] : 0;
        table_.frames(cost, x, lined_.get(), channels, n, q_.stride, frames_.get());
        *deviation = 0;
        if (*q_.stop) return 0;  // nobody reads what is given then; of a long pair every pass over the table takes a part of a second
        table_.ground(prior, frames_.get(), n, m, q_.stride, q_.costs);
        if (prior.counted) std::copy_n(q_.costs, n * q_.stride, frames_.get());  // solving moves the costs
        if (!finite()) return overflowed;
        *deviation = table_.scale(q_);
        if (*q_.stop) return 0;
        if (plan) give(q_.plan, turned, plan, turned ? n : m);
        return table_.inner(q_.plan, frames_.get(), n, m, q_.stride);
    }

    // A plan (n, width) from costs of the same shape.
    double plan(const double* costs, int64_t n, int64_t m, int64_t width, double* into) {
        const bool turned = take(costs, n, m, width, q_.costs);
        const double deviation = table_.scale(q_);
        if (*q_.stop) return 0;
        give(q_.plan, turned, into, width);
        return deviation;
    }

    // What is left of a gradient when the marginals are held, all (n, width).
    void project(const double* plan, const double* gradient, int64_t n, int64_t m, int64_t width, double* into) {
        take(gradient, n, m, width, q_.costs);
        const bool turned = take(plan, n, m, width, q_.plan);
        for (int64_t i = 0; i < q_.n; i++) std::fill(q_.plan + i * q_.stride + q_.m, q_.plan + (i + 1) * q_.stride, 0.0);
        table_.project(q_);
        if (*q_.stop) return;
        give(q_.costs, turned, into, width);
    }

  private:
    void shape(int64_t n, int64_t m) { q_.n = n, q_.m = m, q_.stride = rounded(m); }

    bool finite() const {
        for (int64_t i = 0; i < q_.n; i++)
            for (int64_t j = 0; j < q_.m; j++)
                if (!(std::fabs(q_.costs[i * q_.stride + j]) < 1e290)) return false;
        return true;
    }

    bool take(const double* from, int64_t n, int64_t m, int64_t width, double* into) {
        const bool turned = n < m;
        shape(std::max(n, m), std::min(n, m));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) into[turned ? j * q_.stride + i : i * q_.stride + j] = from[i * width + j];
        return turned;
    }

    void give(const double* from, bool turned, double* into, int64_t width) const {
        for (int64_t i = 0; i < q_.n; i++)
            for (int64_t j = 0; j < q_.m; j++) into[turned ? j * width + i : i * width + j] = from[i * q_.stride + j];
    }

    const TransportTable& table_;
    Buffer<double> costs_, frames_, plan_, normal_, vectors_, lined_;
    Transport q_;
};

// Items over threads, each worker at a workspace of its own.
template <class Work>
void over_items(int64_t items, int64_t chunk, int threads, std::vector<Workspace>& workspaces, volatile bool* stop, const Poll& poll,
                const Work& work) {
    const int64_t tasks = (items + chunk - 1) / chunk;
    run_tasks(
        tasks, threads,
        [&](int64_t task, int worker) {
            for (int64_t item = task * chunk; item < std::min(items, (task + 1) * chunk) && !*stop; item++)
                work(item, workspaces[size_t(worker)], worker);
        },
        [&](int64_t done) { return poll(done, tasks); }, stop);
}

struct WorkerPool {
    volatile bool stop = false;
    int threads;
    int64_t chunk;
    std::vector<Workspace> workspaces;

    WorkerPool(const TransportTable& table, int64_t items, int64_t n, int64_t m, int64_t channels, const SolverLimits& effort, int wanted)
        // waking threads costs more than a few small pairs
        : threads(double(items) * double(n) * double(m) < 2e4 ? 0 : int(std::min<int64_t>(wanted, items))),
          // many small pairs make one task, so that taking it is little beside them
          chunk(std::max<int64_t>(1, 65536 / (n * m))) {
        for (int worker = 0; worker < std::max(1, threads); worker++) workspaces.emplace_back(table, n, m, channels, effort, &stop);
    }
};

template <class T>
struct Pairs {
    PackedSequences<double> x, y;
    bool symmetric;
    Cost cost;
    Prior prior;
    SolverLimits effort;
    T* out;         // (x.count, y.count)
    double* plan;   // (n, m) of the only pair, or null
    int threads;
};

// Row and column of the p-th pair, counted along the lower triangle where the matrix is symmetric.
inline std::pair<int64_t, int64_t> place(int64_t p, int64_t columns, bool symmetric) {
    if (!symmetric) return {p / columns, p % columns};
    // the root may round either way, hence the two loops, of which neither goes far
    int64_t row = int64_t((std::sqrt(8.0 * double(p) + 1) - 1) / 2);
    while (row * (row + 1) / 2 > p) row--;
    while ((row + 1) * (row + 2) / 2 <= p) row++;
    return {row, p - row * (row + 1) / 2};
}

template <class T>
ConvergenceFailure all_pairs(const Pairs<T>& q, const TransportTable& table, const Poll& poll) {
    const int64_t items = q.symmetric ? q.x.count * (q.x.count + 1) / 2 : q.x.count * q.y.count, channels = q.x.channels;
    WorkerPool shop(table, items, longest(q.x), longest(q.y), channels, q.effort, q.threads);
    std::vector<ConvergenceFailure> misses(shop.workspaces.size());
    over_items(items, shop.chunk, shop.threads, shop.workspaces, &shop.stop, poll, [&](int64_t p, Workspace& workspace, int worker) {
        const auto [i, j] = place(p, q.y.count, q.symmetric);
        double deviation;
        const double cost = workspace.pair(q.x.values + q.x.starts[i] * channels, q.x.lengths[i], q.y.values + q.y.starts[j] * channels,
                                       q.y.lengths[j], channels, q.cost, q.prior, q.plan, &deviation);
        q.out[i * q.y.count + j] = T(cost);
        if (q.symmetric) q.out[j * q.y.count + i] = T(cost);
        if (deviation > q.effort.tolerance) misses[size_t(worker)].add({1, i, j, deviation});
    });
    ConvergenceFailure worst;
    for (const ConvergenceFailure& miss : misses) worst.add(miss);
    return worst;
}

}  // namespace

// (cost, epsilon, tolerance, rounds, similarity, spread, weight, counted)
static SolverLimits effort(const nb::tuple& plan) {
    return {nb::cast<double>(plan[1]), nb::cast<double>(plan[2]), nb::cast<int64_t>(plan[3])};
}

// Rows of a plan over threads. They are cut in the same places whatever the number of threads, and what the parts have for
// the columns is added up in one order: no sum depends on who computed it.
void sums_of(const PlanTile& whole, int64_t columns, const PlanTable& table, int threads, const Poll& poll, double* by_column) {
    constexpr int64_t entries = 1 << 17, least = 1 << 20;
    const int64_t each = std::max<int64_t>(transport_lanes, entries / whole.stride / transport_lanes * transport_lanes);
    const int64_t parts = (whole.rows + each - 1) / each;
    const Buffer<double> found = buffer<double>(parts * whole.stride);
    volatile bool stop = false;
    const auto one = [&](int64_t part, int) {
        PlanTile tile = whole;
        const int64_t first = part * each, skipped = whole.shared > 0 ? first : 0;
        tile.rows = std::min(each, whole.rows - first);
        tile.shared = whole.shared > 0 ? tile.rows : 0;
        tile.cost += first * whole.stride + skipped, tile.f += first, tile.a += first, tile.by_row += first;
        tile.g += skipped, tile.b += skipped;
        tile.by_column = found.get() + part * whole.stride;
        std::fill_n(tile.by_column, whole.stride, 0.0);
        tile.by_column += skipped;
        tile.width = whole.stride - skipped;
        table.sums(tile);
    };
    run_tasks(parts, whole.rows * whole.stride < least ? 0 : threads, one, [&](int64_t done) { return poll(done, parts); }, &stop);
    if (stop) return;
    for (int64_t part = 0; part < parts; part++)
        for (int64_t j = 0; j < columns; j++) by_column[j] += found[size_t(part * whole.stride + j)];
}

// A vector as the kernels read it: filled up with zeros.
static Buffer<double> filled(const Array1<const double>& given, int64_t stride) {
    Buffer<double> values = buffer<double>(stride);
    std::copy_n(given.data(), given.size(), values.get());
    std::fill(values.get() + given.size(), values.get() + stride, 0.0);
    return values;
}

static void refuse_unlike(bool unlike) {
    if (unlike) throw std::invalid_argument("expected cost (n, stride) of whole registers, f, a and by_row (n,), g, b and by_column (m,)");
}

static Prior prior(const nb::tuple& plan) {
    return {nb::cast<double>(plan[4]), nb::cast<double>(plan[5]), nb::cast<double>(plan[6]), nb::cast<bool>(plan[7])};
}

template <class T>
static void define_for(nb::module_& module) {
    module.def(
        "transport_pairs",
        [](nb::tuple how, Array2<const double> x, Ids x_starts, Ids x_lengths, Array2<const double> y,
           Ids y_starts, Ids y_lengths, bool symmetric, int threads, Array2<T> out,
           std::optional<Array2<double>> plan, nb::object report, Isa isa) {
            const Pairs<T> pairs{packed_sequences<double>(x, x_starts, x_lengths), packed_sequences<double>(y, y_starts, y_lengths), symmetric,
                                 Cost(nb::cast<int>(how[0])), prior(how), effort(how), out.data(), plan ? plan->data() : nullptr, threads};
            const TransportTable& table = table_for(isa, built);
            ConvergenceFailure miss;
            ProgressPoll{report, {}}.over([&](const Poll& poll) { miss = all_pairs(pairs, table, poll); });
            return nb::make_tuple(miss.count, miss.row, miss.column, miss.deviation);
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::kw_only(), nb::arg("symmetric"), nb::arg("threads"),
        nb::arg("out").noconvert(), nb::arg("plan").noconvert().none(), nb::arg("report").none(), nb::arg("isa") = nb::none());
}

void define_transport(nb::module_& module) {
    define_for<double>(module);
    define_for<float>(module);
    module.def(
        "transport_sums",
        [](Array2<const double> cost, Array1<const double> f, Array1<const double> g, Array1<const double> a, Array1<const double> b,
           double shrink, bool symmetric, int threads, Array1<double> by_row, Array1<double> by_column, Isa isa) {
            const int64_t rows = int64_t(cost.shape(0)), stride = int64_t(cost.shape(1)), columns = int64_t(g.size());
            refuse_unlike(stride % transport_lanes != 0 || stride < columns || int64_t(f.size()) != rows || int64_t(a.size()) != rows ||
                          int64_t(by_row.size()) != rows || int64_t(b.size()) != columns || int64_t(by_column.size()) != columns ||
                          (symmetric && rows > columns));
            const Buffer<double> potentials = filled(g, stride), weights = filled(b, stride);
            const PlanTile whole{cost.data(), rows,   stride,           stride,        f.data(), a.data(), potentials.get(),
                                 weights.get(), shrink, symmetric ? rows : 0, by_row.data(), nullptr};
            const PlanTable& table = table_for(isa, plans_built);
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) { sums_of(whole, columns, table, threads, poll, by_column.data()); });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(),
        nb::kw_only(), nb::arg("symmetric"), nb::arg("threads"), nb::arg("by_row").noconvert(), nb::arg("by_column").noconvert(),
        nb::arg("isa") = nb::none());
    module.def(
        "transport_plans",
        [](nb::tuple how, Array3<const double> costs, Ids n, Ids m, int threads, Array3<double> plans,
           Array1<double> deviations, Isa isa) {
            const int64_t items = int64_t(costs.shape(0)), rows = int64_t(costs.shape(1)), columns = int64_t(costs.shape(2));
            WorkerPool shop(table_for(isa, built), items, rows, columns, 0, effort(how), threads);
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
                over_items(items, shop.chunk, shop.threads, shop.workspaces, &shop.stop, poll, [&](int64_t p, Workspace& workspace, int) {
                    const int64_t at = p * rows * columns;
                    deviations.data()[p] = workspace.plan(costs.data() + at, n.data()[p], m.data()[p], columns, plans.data() + at);
                });
            });
        },
        nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::kw_only(), nb::arg("threads"),
        nb::arg("plans").noconvert(), nb::arg("deviations").noconvert(), nb::arg("isa") = nb::none());
    module.def(
        "transport_project",
        [](Array3<const double> plans, Array3<const double> gradients, Ids n, Ids m, int threads,
           Array3<double> out, Isa isa) {
            const int64_t items = int64_t(plans.shape(0)), rows = int64_t(plans.shape(1)), columns = int64_t(plans.shape(2));
            WorkerPool shop(table_for(isa, built), items, rows, columns, 0, {}, threads);
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
                over_items(items, shop.chunk, shop.threads, shop.workspaces, &shop.stop, poll, [&](int64_t p, Workspace& workspace, int) {
                    const int64_t at = p * rows * columns;
                    workspace.project(plans.data() + at, gradients.data() + at, n.data()[p], m.data()[p], columns, out.data() + at);
                });
            });
        },
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::kw_only(),
        nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());
}

}  // namespace timelike
