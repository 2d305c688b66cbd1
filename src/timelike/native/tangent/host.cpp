// Tiles of pairs over threads: a matrix, sums over the other points with their gradients, or both apart. And Python's side.
#include "tangent/table.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "machine/host.hpp"
#include "machine/memory.hpp"
#include "machine/pool.hpp"

namespace timelike {
namespace {

const TangentTable* const built[] = TIMELIKE_TABLES(tangent_table);

constexpr int64_t small = 1 << 15;  // pairs of few features that are through before a thread would have woken up

int64_t rounded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

using Branches = std::vector<std::tuple<int, double>>;
using Given = std::tuple<Branches, int64_t, double, double, bool>;  // Network in Python

struct Net : TangentNet {
    std::vector<TangentBranch> all;

    Net(const Given& given, int64_t features) {
        const auto& [branches, layers, b, w, of_tangent] = given;
        for (const auto& [family, slope] : branches) all.push_back({family, std::pow(w * (1 + slope) / 2, 2), std::pow(w * (1 - slope) / 2, 2)});
        TangentNet::branches = all.data(), count = int64_t(all.size()), depth = layers, tangent = of_tangent;
        square = w * w, first = b * b, bias = double(count) * first, scale = square / double(features);
        snap = 16 + 2 * std::sqrt(double(features));  // errors of sums grow like the root of how many are added
    }
    Net(const Net&) = delete;
};

// The variance after a layer, times w², and its derivative.
std::pair<double, double> variance(const TangentBranch& branch, double square, double a, const double* fields) {
    constexpr double pi = 3.14159265358979323846, g2 = 0.17331398823491317;
    if (branch.family == tangent_slope) return {(branch.odd + branch.even) * a, branch.odd + branch.even};
    if (branch.family == tangent_sine) return {-square * std::expm1(-2 * a) / 2, square * fields[tangent_decay]};
    return {square * (0.25 + fields[tangent_turn] / (2 * pi)), square * g2 / pi * fields[tangent_over] / fields[tangent_wide]};
}

// What is known of a point before every layer, (depth + 1, field).
void describe(const Net& net, double a, double* fields) {
    constexpr double k = 2 * 0.17331398823491317;
    double grown = 1;
    for (int64_t l = 0; l <= net.depth; l++, fields += tangent_fields) {
        if (a < 1e-290) a = 0;  // the inverse of less would be infinite
        const double A = k * a, wide = std::sqrt(1 + 2 * A), root = std::sqrt(a), inverse = a > 0 ? 1 / root : 0;
        const double known[] = {a,    root, inverse, grown, std::exp(-2 * a), wide, std::atan2(A, wide), 1 / (1 + A), grown * inverse,
                                grown * inverse * inverse};
        std::copy(known, known + tangent_fields, fields);
        double value = 0, slope = 0;
        for (const TangentBranch& branch : net.all) {
            const auto [one, by] = variance(branch, net.square, a, fields);
            value += one, slope += by;
        }
        a = value + (l + 1 < net.depth ? net.bias : 0), grown *= slope;
    }
}

// What a side is read as, and whether the kernels ask what is known of its points.
struct Role {
    bool rows, columns, known;
};

double square_of(const double* point, int64_t features) {
    double sums[4] = {};  // that do not wait for each other
    for (int64_t k = 0; k < features; k++) sums[k % 4] += point[k] * point[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The points of one side in the orders that the kernels read them in; beyond the last, the origin.
class Side : public TangentPoints {
  public:
    Side(const TangentTable& kernels, const Net& net, const double* points, int64_t number, int64_t features, Role role) : TangentPoints{} {
        count = number, this->features = features, rows = points;
        filled = rounded(number, kernels.columns), stride = rounded(features, kernels.width);
        const bool few = features <= tangent_few;
        if (role.known) describe_all(net, role);
        if (role.columns && (few || role.known)) fill_panels(kernels.panel);
        if (!few) fill_padded();
    }

  private:
    void describe_all(const Net& net, Role role) {
        const int64_t known = (net.depth + 1) * tangent_fields;
        rows_ = buffer<double>(filled * known);
        for (int64_t i = 0; i < filled; i++) {
            const double square = i < count ? square_of(rows + i * features, features) : 0;
            describe(net, net.scale * square + net.first, rows_.get() + i * known);
        }
        by_row = rows_.get();
        if (!role.columns) return;
        columns_ = buffer<double>(filled * known);
        for (int64_t k = 0; k < known; k++)
            for (int64_t i = 0; i < filled; i++) columns_[size_t(k * filled + i)] = rows_[size_t(i * known + k)];
        by_column = columns_.get();
    }
    void fill_panels(int64_t panel) {
        panels_ = buffer<double>(filled * features);
        double* into = panels_.get();
        for (int64_t first = 0; first < filled; first += panel)
            for (int64_t k = 0; k < features; k++)
                for (int64_t i = first; i < first + panel; i++) *into++ = i < count ? rows[i * features + k] : 0;
        panels = panels_.get();
    }
    void fill_padded() {
        padded_ = buffer<double>(filled * stride);
        std::fill(padded_.get(), padded_.get() + filled * stride, 0.0);
        for (int64_t i = 0; i < count; i++) std::copy(rows + i * features, rows + (i + 1) * features, padded_.get() + i * stride);
        padded = padded_.get();
    }

    Buffer<double> rows_, columns_, panels_, padded_;
};

// The memory of one worker: a tile of pairs, and the sums of all tiles of rows of a task.
struct Workspace {
    Buffer<double> memory, kept;
    TangentTile tile;
    double* sums;

    Workspace(const TangentTable& kernels, int64_t room) {
        const int64_t size = kernels.rows * kernels.columns;
        memory = buffer<double>(6 * size), kept = buffer<double>(room);
        std::fill(memory.get(), memory.get() + 6 * size, 0.0);  // rows that a tile lacks are multiplied too
        double* const at = memory.get();
        tile = {at, at + size, at + 2 * size, at + 3 * size, at + 4 * size}, sums = at + 5 * size;
    }
};

// Tasks of some tiles of rows, each with all tiles of columns: columns that are in the cache serve all of its rows.
class TileScheduler {
  public:
    TileScheduler(const TangentTable& kernels, const Side& x, const Side& y, int threads)
        : kernels(kernels), x(x), y(y), threads_(x.count * y.count * x.features < small * tangent_few && x.count * y.count < small ? 0 : threads) {
        const int64_t tiles = rounded(x.count, kernels.rows) / kernels.rows;
        deep_ = std::clamp<int64_t>(tiles / (4 * std::max(1, threads_)), 1, 4);
        for (int w = 0; w < std::max(1, threads_); w++) workspaces_.emplace_back(kernels, deep_ * kernels.kept(x));
    }

    // pairs(workspace, first row, rows, first column, columns) of every tile; then rows(workspace, place of the tile, first row, rows)
    template <class Pairs, class Rows>
    void run(bool lower, const Poll& poll, const Pairs& pairs, const Rows& done) {
        volatile bool stop = false;
        const int64_t tall = kernels.rows, task_rows = deep_ * tall, tasks = rounded(x.count, task_rows) / task_rows;
        const auto work = [&](int64_t task, int worker) {
            Workspace& workspace = workspaces_[size_t(worker)];
            const int64_t from = task * task_rows, to = std::min(x.count, from + task_rows);
            std::fill(workspace.kept.get(), workspace.kept.get() + deep_ * kernels.kept(x), 0.0);
            for (int64_t j = 0; j < (lower ? to : y.count) && !stop; j += kernels.columns)
                for (int64_t i = from; i < to; i += tall)
                    pairs(workspace, (i - from) / tall, i, std::min(tall, to - i), j, std::min(kernels.columns, y.count - j));
            for (int64_t i = from; i < to; i++) done(workspace, (i - from) / tall, (i - from) % tall, i);
        };
        run_tasks(tasks, threads_, work, [&](int64_t finished) { return poll(finished, tasks); }, &stop);
    }

    const TangentTable& kernels;
    const Side &x, &y;

  private:
    int threads_;
    int64_t deep_;
    std::vector<Workspace> workspaces_;
};

void refuse(bool wrong, const char* what) {
    if (wrong) throw std::invalid_argument(what);
}

// Both sides on the scheduler, and work on it while Python may be interrupted.
template <class Work>
void with_scheduler(const Given& given, Array2<const double> x, Array2<const double> y, bool known, int threads, const Isa& isa, const Work& work) {
    const int64_t features = int64_t(x.shape(1));
    refuse(x.shape(1) != y.shape(1) || features == 0, "expected x and y (row, feature), of as many features");
    refuse(std::get<0>(given).empty() || std::get<1>(given) < 1, "expected a branch, and a hidden layer");
    for (const auto& [family, slope] : std::get<0>(given)) refuse(family < tangent_slope || family > tangent_sigmoid, "expected a family that there is");
    const TangentTable& kernels = table_for(isa, built);
    const Net net(given, features);
    ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
        const bool same = x.data() == y.data() && x.shape(0) == y.shape(0);
        const Side rows(kernels, net, x.data(), int64_t(x.shape(0)), features, {true, same, known});
        if (same) {
            TileScheduler scheduler(kernels, rows, rows, threads);
            return work(scheduler, net, poll);
        }
        const Side columns(kernels, net, y.data(), int64_t(y.shape(0)), features, {false, true, known});
        TileScheduler scheduler(kernels, rows, columns, threads);
        work(scheduler, net, poll);
    });
}

const auto nothing = [](Workspace&, int64_t, int64_t, int64_t) {};

void matrix(TileScheduler& scheduler, const Net& net, const Poll& poll, bool symmetric, double* out) {
    const int64_t across = scheduler.y.count, wide = scheduler.kernels.columns;
    scheduler.run(symmetric, poll, [&](Workspace& workspace, int64_t, int64_t i, int64_t rows, int64_t j, int64_t columns) {
        scheduler.kernels.pairs(net, scheduler.x, scheduler.y, i, rows, j, tangent_values, workspace.tile, workspace.sums);
        for (int64_t r = 0; r < rows; r++) {
            const double* const from = workspace.tile.values + r * wide;
            const int64_t end = symmetric ? std::min(columns, i + r - j + 1) : columns;
            if (end <= 0) continue;
            std::copy(from, from + end, out + (i + r) * across + j);
            for (int64_t c = 0; symmetric && c < end; c++) out[(j + c) * across + i + r] = from[c];
        }
    }, nothing);
}

// Values and what derivatives are made of, each (x, y), own_y only where somebody wants it; near as a byte.
struct KernelOutputs {
    double *values, *turn, *own_x, *own_y;
    bool* near;
};

void slopes(TileScheduler& scheduler, const Net& net, const Poll& poll, const KernelOutputs& out) {
    const int64_t across = scheduler.y.count, wide = scheduler.kernels.columns;
    scheduler.run(false, poll, [&](Workspace& workspace, int64_t, int64_t i, int64_t rows, int64_t j, int64_t columns) {
        const TangentTile& tile = workspace.tile;
        scheduler.kernels.pairs(net, scheduler.x, scheduler.y, i, rows, j, out.own_y ? tangent_all : tangent_pulled, tile, workspace.sums);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t from = r * wide, to = (i + r) * across + j;
            std::copy(tile.values + from, tile.values + from + columns, out.values + to);
            std::copy(tile.own_x + from, tile.own_x + from + columns, out.own_x + to);
            if (out.own_y) std::copy(tile.own_y + from, tile.own_y + from + columns, out.own_y + to);
            for (int64_t c = 0; c < columns; c++) {
                out.near[to + c] = tile.near[from + c] != 0;
                out.turn[to + c] = tile.near[from + c] + tile.far[from + c];
            }
        }
    }, nothing);
}

// Rows that `fill` puts into a tile, drawn together.
template <class Fill>
void drawn(TileScheduler& scheduler, const Net& net, const Poll& poll, double* values, double* gradients, const Fill& fill) {
    const int64_t features = scheduler.x.features, room = scheduler.kernels.kept(scheduler.x);
    scheduler.run(
        false, poll,
        [&](Workspace& workspace, int64_t place, int64_t i, int64_t rows, int64_t j, int64_t columns) {
            fill(workspace, i, rows, j, columns);
            scheduler.kernels.draw(scheduler.x, scheduler.y, i, rows, j, workspace.tile, workspace.kept.get() + place * room);
        },
        [&](Workspace& workspace, int64_t place, int64_t r, int64_t i) {
            scheduler.kernels.finish(scheduler.x, i, workspace.kept.get() + place * room, r, net.scale, values ? values + i : nullptr, gradients + i * features);
        });
}

using Doubles = Array2<const double>;

void define_matrix(nb::module_& module) {
    module.def(
        "tangent_matrix",
        [](const Given& given, Doubles x, Doubles y, bool symmetric, int threads, Array2<double> out, Isa isa) {
            refuse(out.shape(0) != x.shape(0) || out.shape(1) != y.shape(0), "expected out (x, y)");
            refuse(symmetric && x.data() != y.data(), "expected x twice for its symmetric matrix");
            if (out.size() == 0) return;
            with_scheduler(given, x, y, true, threads, isa, [&](TileScheduler& scheduler, const Net& net, const Poll& poll) { matrix(scheduler, net, poll, symmetric, out.data()); });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::kw_only(), nb::arg("symmetric"), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("isa") = nb::none());
    module.def(
        "tangent_slopes",
        [](const Given& given, Doubles x, Doubles y, int threads, Array2<double> values, Array2<double> turn, Array2<double> own_x,
           std::optional<Array2<double>> own_y, Array2<bool> near, Isa isa) {
            for (const auto* one : {&values, &turn, &own_x, own_y ? &*own_y : &own_x})
                refuse(one->shape(0) != x.shape(0) || one->shape(1) != y.shape(0), "expected all that is requested (x, y)");
            refuse(near.shape(0) != x.shape(0) || near.shape(1) != y.shape(0), "expected near (x, y)");
            if (values.size() == 0) return;
            const KernelOutputs all{values.data(), turn.data(), own_x.data(), own_y ? own_y->data() : nullptr, near.data()};
            with_scheduler(given, x, y, true, threads, isa, [&](TileScheduler& scheduler, const Net& net, const Poll& poll) { slopes(scheduler, net, poll, all); });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::kw_only(), nb::arg("threads"), nb::arg("values").noconvert(), nb::arg("turn").noconvert(),
        nb::arg("own_x").noconvert(), nb::arg("own_y").noconvert().none(), nb::arg("near").noconvert(), nb::arg("isa") = nb::none());
}

void define_sums(nb::module_& module) {
    module.def(
        "tangent_pulled",
        [](const Given& given, Doubles x, Doubles y, Doubles weights, int threads, Array1<double> values, Array2<double> gradients, Isa isa) {
            refuse(weights.shape(1) != y.shape(0) || (weights.shape(0) != 1 && weights.shape(0) != x.shape(0)), "expected weights (1 or x, y)");
            refuse(values.size() != x.shape(0) || gradients.shape(0) != x.shape(0) || gradients.shape(1) != x.shape(1), "expected values (x,) and gradients like x");
            if (values.size() == 0) return;
            const int64_t down = weights.shape(0) == 1 && x.shape(0) != 1 ? 0 : int64_t(y.shape(0));
            with_scheduler(given, x, y, true, threads, isa, [&](TileScheduler& scheduler, const Net& net, const Poll& poll) {
                drawn(scheduler, net, poll, values.data(), gradients.data(), [&](Workspace& workspace, int64_t i, int64_t rows, int64_t j, int64_t some) {
                    scheduler.kernels.pairs(net, scheduler.x, scheduler.y, i, rows, j, tangent_pulled, workspace.tile, workspace.sums);
                    scheduler.kernels.weigh(workspace.tile, rows, some, weights.data() + i * down + j, down);
                });
            });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::kw_only(), nb::arg("threads"), nb::arg("values").noconvert(), nb::arg("gradients").noconvert(),
        nb::arg("isa") = nb::none());
    module.def(
        "tangent_pushed",
        [](const Given& given, Doubles x, Doubles y, Doubles turn, Doubles own, Array2<const bool> near, Doubles weights, bool turned, int threads,
           Array2<double> gradients, Isa isa) {
            const size_t rows = (turned ? y : x).shape(0), columns = (turned ? x : y).shape(0);
            for (const auto* one : {&turn, &own, &weights}) refuse(one->shape(0) != rows || one->shape(1) != columns, "expected all of them (x, y)");
            refuse(near.shape(0) != rows || near.shape(1) != columns, "expected near (x, y)");
            refuse(gradients.shape(0) != x.shape(0) || gradients.shape(1) != x.shape(1), "expected gradients like x");
            if (gradients.size() == 0) return;
            const int64_t width = int64_t(columns), down = turned ? 1 : width, across = turned ? width : 1;
            const TangentSlopes slopes{turn.data(), own.data(), weights.data(), near.data()};
            with_scheduler(given, x, y, false, threads, isa, [&](TileScheduler& scheduler, const Net& net, const Poll& poll) {
                drawn(scheduler, net, poll, nullptr, gradients.data(), [&](Workspace& workspace, int64_t i, int64_t some_rows, int64_t j, int64_t some) {
                    scheduler.kernels.take(slopes, i * down + j * across, down, across, some_rows, some, workspace.tile);
                });
            });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::kw_only(), nb::arg("turned"), nb::arg("threads"),
        nb::arg("gradients").noconvert(), nb::arg("isa") = nb::none());
}

}  // namespace

void define_tangent(nb::module_& module) {
    define_matrix(module);
    define_sums(module);
}

}  // namespace timelike
