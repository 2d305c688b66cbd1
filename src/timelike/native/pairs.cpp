#include "pairs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>

#include "pool.hpp"

namespace timelike {

int64_t Window::radius(int64_t n, int64_t m) const {
    if (cells >= 0) return cells;
    if (share < 0) return std::max(n, m);
    return int64_t(std::floor(share * double(std::max(n, m)) + 1e-9));  // 0.1 × 60 means 6, however it rounds
}

void Window::fill(int64_t n, int64_t m, int32_t* lo, int32_t* hi) const {
    const int64_t r = radius(n, m);
    for (int64_t i = 0; i < n; i++) {
        lo[i] = int32_t(std::max<int64_t>(0, i - r));
        hi[i] = int32_t(std::min(m - 1, i + r));
    }
}

namespace {

struct Tile {
    int64_t y_begin, y_used, x_begin, x_end;  // positions in the order by length
};

struct Free {
    void operator()(void* memory) const { ::operator delete(memory, std::align_val_t(64)); }
};
template <class T> using Buffer = std::unique_ptr<T[], Free>;

template <class T>
Buffer<T> buffer(int64_t count) {
    return Buffer<T>(static_cast<T*>(::operator new(size_t(count) * sizeof(T), std::align_val_t(64))));
}

template <class T>
struct Scratch {
    Buffer<T> row, interleaved;
    Buffer<int32_t> lo, hi;
};

int64_t longest(const int64_t* lengths, int64_t count) { return *std::max_element(lengths, lengths + count); }

// Sequences of like length share a register, so that few lanes run over padding.
std::vector<int64_t> by_length(const int64_t* lengths, int64_t count) {
    std::vector<int64_t> order(size_t(count), 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return lengths[a] < lengths[b]; });
    return order;
}

template <class T>
std::vector<Tile> tiles(const Request<T>& q, const std::vector<int64_t>& order, int lanes) {
    constexpr double tile_cells = 4e6;  // of vectors: some ten milliseconds, so that threads balance and Ctrl-C is heard
    const double mean_rows = double(std::accumulate(q.x.lengths, q.x.lengths + q.x.count, int64_t(0))) / double(q.x.count);
    std::vector<Tile> result;
    for (int64_t begin = 0, used; begin < q.y.count; begin += used) {
        const int64_t length = q.y.lengths[order[size_t(begin)]];
        for (used = 1; used < lanes && begin + used < q.y.count; used++)
            if (q.window.by_length() && q.y.lengths[order[size_t(begin + used)]] != length) break;
        const int64_t until = q.symmetric ? begin + used : q.x.count;
        const double cells = mean_rows * double(q.y.lengths[order[size_t(begin + used - 1)]]);
        const int64_t chunk = std::max<int64_t>(1, int64_t(tile_cells / cells));
        for (int64_t x = 0; x < until; x += chunk) result.push_back({begin, used, x, std::min(until, x + chunk)});
    }
    return result;
}

}  // namespace

template <class T>
bool dtw_pairwise(const Request<T>& q, const Table& table, const std::function<bool(int64_t, int64_t)>& poll) {
    const Kernels<T>& kernel = kernels<T>(table);
    const int lanes = kernel.lanes;
    const std::vector<int64_t> order = by_length(q.y.lengths, q.y.count);
    const std::vector<Tile> work = tiles(q, order, lanes);
    const int64_t max_n = longest(q.x.lengths, q.x.count), max_m = longest(q.y.lengths, q.y.count);

    // waking threads costs more than a small job
    const double cells = double(q.x.count) * double(q.y.count) * double(max_n) * double(max_m) * double(q.x.channels);
    const int threads = cells < 1e6 ? 0 : int(std::min<int64_t>(q.threads, int64_t(work.size())));
    std::vector<Scratch<T>> scratch(size_t(std::max(1, threads)));
    for (auto& s : scratch)
        s = {buffer<T>((max_m + 1) * lanes), buffer<T>(max_m * q.y.channels * lanes), buffer<int32_t>(max_n),
             buffer<int32_t>(max_n)};

    volatile bool stop = false;
    auto run = [&](int64_t task, int worker) {
        const Tile& tile = work[size_t(task)];
        Scratch<T>& s = scratch[size_t(worker)];
        const int64_t* items = order.data() + tile.y_begin;
        const int used = int(tile.y_used);
        const int64_t m = q.y.lengths[items[used - 1]];
        int64_t lengths[64];
        for (int l = 0; l < used; l++) lengths[l] = q.y.lengths[items[l]];
        kernel.interleave(q.y, items, used, m, s.interleaved.get());
        const Lanes<T> y{s.interleaved.get(), lengths, m, used};
        T distances[64];
        for (int64_t p = tile.x_begin; p < tile.x_end && !stop; p++) {
            const int64_t i = q.symmetric ? order[size_t(p)] : p, n = q.x.lengths[i];
            q.window.fill(n, m, s.lo.get(), s.hi.get());
            kernel.dtw(q.x.values + q.x.starts[i] * q.x.channels, n, q.x.channels, y, {s.lo.get(), s.hi.get()}, q.cost,
                       s.row.get(), distances, &stop);
            for (int l = 0; l < used; l++) {
                if (q.symmetric && p > tile.y_begin + l) continue;
                q.out[i * q.y.count + items[l]] = distances[l];
                if (q.symmetric) q.out[items[l] * q.y.count + i] = distances[l];
            }
        }
    };
    const int64_t total = int64_t(work.size());
    return run_tasks(total, threads, run, [&](int64_t done) { return poll(done, total); }, &stop);
}

template <class T>
Path<T> dtw_path(const T* x, int64_t n, const T* y, int64_t m, int64_t channels, Window window, Cost cost,
                 const Table& table, const std::function<bool(int64_t, int64_t)>& poll) {
    Buffer<T> row = buffer<T>(m + 1);
    Buffer<int32_t> lo = buffer<int32_t>(n), hi = buffer<int32_t>(n);
    window.fill(n, m, lo.get(), hi.get());
    Buffer<uint8_t> directions = buffer<uint8_t>(n * ((m + 3) / 4));
    Path<T> path;
    path.steps.resize(size_t(2 * (n + m - 1)));
    int64_t steps = 0;
    volatile bool stop = false;
    const int threads = double(n) * double(m) < 1e7 ? 0 : 1;  // a long one runs beside, so that Ctrl-C is heard
    const bool whole = run_tasks(
        1, threads,
        [&](int64_t, int) {
            steps = kernels<T>(table).dtw_path(x, n, y, m, channels, {lo.get(), hi.get()}, cost, row.get(),
                                               directions.get(), path.steps.data(), &path.distance, &stop);
        },
        [&](int64_t done) { return poll(done, 1); }, &stop);
    if (!whole) steps = 0;
    path.steps.erase(path.steps.begin(), path.steps.end() - 2 * steps);
    return path;
}

template bool dtw_pairwise<float>(const Request<float>&, const Table&, const std::function<bool(int64_t, int64_t)>&);
template bool dtw_pairwise<double>(const Request<double>&, const Table&, const std::function<bool(int64_t, int64_t)>&);
template Path<float> dtw_path<float>(const float*, int64_t, const float*, int64_t, int64_t, Window, Cost, const Table&,
                                     const std::function<bool(int64_t, int64_t)>&);
template Path<double> dtw_path<double>(const double*, int64_t, const double*, int64_t, int64_t, Window, Cost,
                                       const Table&, const std::function<bool(int64_t, int64_t)>&);

}  // namespace timelike
