// All pairs of two collections, and one pair with its path or its whole matrix.
#include "elastic/pairs.hpp"

#include <cstring>
#include <numeric>

#include "elastic/tile.hpp"

namespace timelike {
namespace {

struct Task {
    int64_t y_begin, y_used, x_begin, x_end;  // positions in the order by length
};

template <class T>
std::vector<Task> tasks(const Request<T>& q, const std::vector<int64_t>& order, const Kernels<T>& kernel) {
    constexpr double cells_per_task = 4e6;  // of vectors: some ten milliseconds, so that threads balance and Ctrl-C is heard
    const double mean_rows = double(std::accumulate(q.x.lengths, q.x.lengths + q.x.count, int64_t(0))) / double(q.x.count);
    const bool alike = kernel.traits(q.program.how) & Trait::by_length;
    std::vector<Task> result;
    for (int64_t begin = 0, used; begin < q.y.count; begin += used) {
        const int64_t length = q.y.lengths[order[size_t(begin)]];
        for (used = 1; used < kernel.lanes && begin + used < q.y.count; used++)
            if (alike && q.y.lengths[order[size_t(begin + used)]] != length) break;
        // of a symmetric matrix, rows up to the register's own: above the diagonal it is mirrored
        const int64_t until = q.symmetric ? begin + used : q.x.count;
        const double cells = mean_rows * double(q.y.lengths[order[size_t(begin + used - 1)]]);
        const int64_t chunk = std::max<int64_t>(1, int64_t(cells_per_task / cells));
        for (int64_t x = 0; x < until; x += chunk) result.push_back({begin, used, x, std::min(until, x + chunk)});
    }
    return result;
}

// One pair: the strip schedule is several times faster than one lane of a register.
template <class T>
bool lone(const Request<T>& q, const Table& table, const Poll& poll) {
    const Kernels<T>& kernel = kernels<T>(table);
    const int64_t n = q.x.lengths[0], m = q.y.lengths[0], channels = q.x.channels, lanes = kernel.lanes;
    Buffer<int32_t> lo = buffer<int32_t>(n), hi = buffer<int32_t>(n);
    q.program.window.fill(n, m, lo.get(), hi.get());
    // aligned: the row starts one register in, and what follows it is a whole number of registers long
    Buffer<T> scratch = buffer<T>((m + 4 * lanes) * (channels + 1) + (channels + 4) * lanes);
    volatile bool stop = false;
    return run_tasks(
        1, double(n) * double(m) < 1e7 ? 0 : 1,
        [&](int64_t, int) {
            q.out[0] = kernel.strip(q.program.how.cost, q.x.values + q.x.starts[0] * channels, n,
                                    q.y.values + q.y.starts[0] * channels, m, channels,
                                    {lo.get(), hi.get(), lo.get(), hi.get()},
                                    !q.program.window.open(), scratch.get(), &stop);
        },
        [&](int64_t done) { return poll(done, 1); }, &stop);
}

}  // namespace

template <class T>
bool pairwise(const Request<T>& q, const Table& table, const Poll& poll) {
    const Kernels<T>& kernel = kernels<T>(table);
    const bool strips = kernel.traits(q.program.how) & Trait::strips;
    if (strips && q.x.count == 1 && q.y.count == 1) return lone(q, table, poll);
    // rows of one length one after the other share a band
    const std::vector<int64_t> order = by_length(q.y), rows = q.symmetric ? order : by_length(q.x);
    const std::vector<Task> work = tasks(q, order, kernel);
    const int64_t max_n = longest(q.x), max_m = longest(q.y);

    // waking threads costs more than a small job
    const double cells = double(q.x.count) * double(q.y.count) * double(max_n) * double(max_m) * double(q.x.channels);
    const int threads = cells < 1e6 ? 0 : int(std::min<int64_t>(q.threads, int64_t(work.size())));
    std::vector<Tile<T>> tiles;
    for (int worker = 0; worker < std::max(1, threads); worker++)
        tiles.emplace_back(kernel, q.program, max_n, max_m, q.x.channels, kernel.lanes);

    volatile bool stop = false;
    auto run = [&](int64_t number, int worker) {
        const Task& task = work[size_t(number)];
        Tile<T>& tile = tiles[size_t(worker)];
        const int64_t* items = order.data() + task.y_begin;
        tile.set_columns(q.y, items, int(task.y_used));
        T distances[64];  // more than any register has lanes
        for (int64_t p = task.x_begin; p < task.x_end && !stop; p++) {
            const int64_t i = rows[size_t(p)];
            tile.set_rows(q.x, i);
            tile.run(distances, nullptr, &stop);
            for (int64_t l = 0; l < task.y_used; l++) {
                // both orders of a pair inside the register itself: the one that other registers would choose counts
                if (q.symmetric && p > task.y_begin + l) continue;
                q.out[i * q.y.count + items[l]] = distances[l];
                if (q.symmetric) q.out[items[l] * q.y.count + i] = distances[l];
            }
        }
    };
    const int64_t total = int64_t(work.size());
    return run_tasks(total, threads, run, [&](int64_t done) { return poll(done, total); }, &stop);
}

namespace {

// One pair, row by row.
template <class T>
class SinglePair {
  public:
    SinglePair(const Pair<T>& pair, const Program<T>& program, const Table& table)
        : n_(pair.n), m_(pair.m), counted_(program.how.counted),
          missing_(kernels<T>(table).traits(program.how) & Trait::missing),
          tile_(kernels<T>(table), program, pair.n, pair.m, pair.channels, 1) {
        const int64_t zero = 0;
        tile_.set_columns({pair.y, &zero, &pair.m, 1, pair.channels}, &zero, 1);
        tile_.set_rows({pair.x, &zero, &pair.n, 1, pair.channels}, 0);
        for (int64_t i = 0; i < n_; i++) width_ = std::max<int64_t>(width_, tile_.band().hi[i] - tile_.band().lo[i] + 1);
        stride_ = (width_ + 3) / 4;
    }

    void fill(T* matrix, const volatile bool* stop) { tile_.rows(0, n_, tile_.row(), nullptr, 0, matrix, stop); }

    T trace(int64_t budget, std::vector<int64_t>& steps, const volatile bool* stop) {
        j_ = m_ - 1;
        back(0, n_, budget, steps, stop);
        // pairs were pushed from the end, j before i
        std::reverse(steps.begin(), steps.end());
        return distance_;
    }

  private:
    // rows first .. last of the path, from its end; tile_.row() holds the row above `first`
    void back(int64_t first, int64_t last, int64_t budget, std::vector<int64_t>& steps, const volatile bool* stop) {
        const int64_t rows = last - first;
        if (rows == 1 || rows * stride_ <= budget) {
            Buffer<uint8_t> marks = buffer<uint8_t>(rows * stride_);
            tile_.rows(first, last, tile_.row(), marks.get(), stride_, nullptr, stop);
            if (*stop) return;
            if (last == n_) remember();
            walk(first, last, marks.get(), steps);
            return;
        }
        // every level of this recursion computes the rows once more and keeps sixteen of them: few levels, little memory
        constexpr int64_t parts = 16;
        const int64_t chunk = (rows + parts - 1) / parts, state = 2 * (m_ + 1);
        std::vector<T> kept;
        for (int64_t at = first; at < last; at += chunk) {
            kept.insert(kept.end(), tile_.row(), tile_.row() + state);
            if (at + chunk < last) tile_.rows(at, at + chunk, tile_.row(), nullptr, 0, nullptr, stop);
        }
        for (int64_t part = (rows - 1) / chunk; part >= 0 && !*stop; part--) {
            std::copy_n(kept.begin() + part * state, state, tile_.row());
            kept.resize(size_t(part * state));
            const int64_t at = first + part * chunk;
            back(at, std::min(at + chunk, last), budget, steps, stop);
        }
    }

    void remember() {
        const T* row = tile_.row();
        if (missing_) distance_ = Tile<T>::scaled(row[2 * m_], n_, m_, row[2 * m_ + 1]);
        else distance_ = counted_ ? row[2 * m_] / row[2 * m_ + 1] : row[m_];
    }

    void walk(int64_t first, int64_t last, const uint8_t* marks, std::vector<int64_t>& steps) {
        for (int64_t i = last - 1; i >= first;) {
            steps.push_back(j_);
            steps.push_back(i);
            const int64_t at = j_ - tile_.band().lo[i];
            int way = marks[(i - first) * stride_ + at / 4] >> (2 * (at % 4)) & 3;  // 0 diagonal, 1 up, 2 left
            // on the border only one way is left; the marks there may name one that leads outside
            if (j_ == 0) way = 1;
            else if (i == 0) way = 2;
            if (way != 1) j_--;
            if (way != 2) i--;
        }
    }

    int64_t n_, m_, width_ = 1, stride_, j_ = 0;
    bool counted_, missing_;
    Tile<T> tile_;
    T distance_ = 0;
};

// A long program runs on a thread of the pool, so that the caller hears Ctrl-C.
template <class T, class Work>
bool beside(const Pair<T>& pair, const Poll& poll, const Work& work) {
    volatile bool stop = false;
    const int threads = double(pair.n) * double(pair.m) < 1e7 ? 0 : 1;
    return run_tasks(1, threads, [&](int64_t, int) { work(&stop); }, [&](int64_t done) { return poll(done, 1); }, &stop);
}

}  // namespace

template <class T>
Path<T> path(const Pair<T>& pair, const Program<T>& program, int64_t budget, const Table& table, const Poll& poll) {
    SinglePair<T> single(pair, program, table);
    Path<T> found;
    if (!beside(pair, poll, [&](const volatile bool* stop) { found.distance = single.trace(budget, found.steps, stop); }))
        found.steps.clear();
    return found;
}

template <class T>
bool matrix(const Pair<T>& pair, const Program<T>& program, T* out, const Table& table, const Poll& poll) {
    SinglePair<T> single(pair, program, table);
    std::fill(out, out + pair.n * pair.m, T(INFINITY));
    return beside(pair, poll, [&](const volatile bool* stop) { single.fill(out, stop); });
}

#define TIMELIKE_INSTANTIATE(T)                                                                                       \
    template bool pairwise<T>(const Request<T>&, const Table&, const Poll&);                                          \
    template Path<T> path<T>(const Pair<T>&, const Program<T>&, int64_t, const Table&, const Poll&);                  \
    template bool matrix<T>(const Pair<T>&, const Program<T>&, T*, const Table&, const Poll&);
TIMELIKE_INSTANTIATE(float)
TIMELIKE_INSTANTIATE(double)

}  // namespace timelike
