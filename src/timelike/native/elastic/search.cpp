// Exact nearest neighbours: lower bounds first, then the program itself in the order of the bounds, with the running
// k-th best as the limit beyond which a register of candidates is given up.
#include <limits>
#include <numeric>

#include "elastic/tile.hpp"

namespace timelike {
namespace {

// Smallest and largest value within `radius` steps, channel by channel: (steps, channel) each.
template <class T>
void envelope(const T* values, int64_t n, int64_t channels, int64_t radius, T* low, T* high) {
    std::vector<int64_t> down(size_t(n), 0), up(size_t(n), 0);  // monotone queues of positions
    for (int64_t c = 0; c < channels; c++) {
        auto at = [&](int64_t i) { return values[i * channels + c]; };
        int64_t down_head = 0, down_tail = 0, up_head = 0, up_tail = 0, next = 0;
        for (int64_t i = 0; i < n; i++) {
            for (; next < n && next <= i + radius; next++) {
                while (down_tail > down_head && at(down[size_t(down_tail - 1)]) >= at(next)) down_tail--;
                while (up_tail > up_head && at(up[size_t(up_tail - 1)]) <= at(next)) up_tail--;
                down[size_t(down_tail++)] = next, up[size_t(up_tail++)] = next;
            }
            while (down[size_t(down_head)] < i - radius) down_head++;
            while (up[size_t(up_head)] < i - radius) up_head++;
            low[i * channels + c] = at(down[size_t(down_head)]);
            high[i * channels + c] = at(up[size_t(up_head)]);
        }
    }
}

// Bounds from below by keogh_bounds (Keogh), for collections of one length and programs that cost at least DTW's squares.
template <class T>
class KeoghBounds {
  public:
    KeoghBounds(const PackedSequences<T>& items, const Program<T>& program, const Kernels<T>& kernel)
        : items_(items), kernel_(kernel), length_(items.lengths[0]), size_(length_ * items.channels) {
        radius_ = program.window.open() ? length_ : program.window.radius(length_, length_);
        const int64_t blocks = (items.count + kernel.lanes - 1) / kernel.lanes;
        for (Buffer<T>* part : {&columns_, &low_, &high_}) *part = buffer<T>(blocks * size_ * kernel.lanes);
    }

    // Lays out every item with its box: of a large gallery it takes seconds, hence threads. Gives false if stopped.
    bool lay_out(int threads, const std::function<bool(int64_t)>& poll, volatile bool* stop) {
        const int64_t blocks = (items_.count + kernel_.lanes - 1) / kernel_.lanes;
        if (double(items_.count) * double(size_) < 1e6) threads = 0;
        return run_tasks(blocks, int(std::min<int64_t>(threads, blocks)), [&](int64_t block, int) { lay_out(block); }, poll, stop);
    }

    void bounds(const T* query, std::vector<T>& into) const {
        std::vector<T> low(static_cast<size_t>(size_)), high(static_cast<size_t>(size_));
        envelope(query, length_, items_.channels, radius_, low.data(), high.data());
        alignas(64) T block[64];
        for (int64_t begin = 0; begin < items_.count; begin += kernel_.lanes) {
            const int64_t base = begin * size_;
            kernel_.keogh(query, low.data(), high.data(), &columns_[base], &low_[base], &high_[base], size_, block);
            // sums of thousands of squares carry rounding, and a bound must stay below
            const T slack = 1 - T(size_ + 8) * std::numeric_limits<T>::epsilon();
            for (int64_t l = 0; l < kernel_.lanes && begin + l < items_.count; l++) into[size_t(begin + l)] = block[l] * slack;
        }
    }

  private:
    void lay_out(int64_t block) {
        std::vector<T> low(static_cast<size_t>(size_)), high(static_cast<size_t>(size_));
        const int64_t lanes = kernel_.lanes;
        for (int64_t item = block * lanes; item < (block + 1) * lanes; item++) {
            const int64_t source = std::min(item, items_.count - 1);  // a last register that is not full repeats the last item
            const T* values = items_.values + items_.starts[source] * items_.channels;
            envelope(values, length_, items_.channels, radius_, low.data(), high.data());
            const int64_t base = block * size_ * lanes + item % lanes;
            for (int64_t k = 0; k < size_; k++) {
                columns_[base + k * lanes] = values[k];
                low_[base + k * lanes] = low[size_t(k)];
                high_[base + k * lanes] = high[size_t(k)];
            }
        }
    }

    const PackedSequences<T>& items_;
    const Kernels<T>& kernel_;
    int64_t length_, size_, radius_;
    Buffer<T> columns_, low_, high_;
};

template <class T>
struct Neighbor {
    T distance;
    int64_t id;
    bool operator<(const Neighbor& other) const { return distance < other.distance || (distance == other.distance && id < other.id); }
};

template <class T>
class Searcher {
  public:
    Searcher(const PackedSequences<T>& queries, const PackedSequences<T>& items, const Program<T>& program, int64_t k, bool rooted,
             const Kernels<T>& kernel, const KeoghBounds<T>* keogh_bounds)
        : queries_(queries), items_(items), program_(program), k_(k), rooted_(rooted), lanes_(kernel.lanes),
          traits_(kernel.traits(program.how)), keogh_bounds_(keogh_bounds),
          tile_(kernel, program, longest(queries), longest(items),
                items.channels, kernel.lanes),
          bounds_(size_t(items.count), traits_ & Trait::grows ? T(0) : -T(INFINITY)) {}  // what grows from 0 stays above it

    void run(int64_t query, int64_t* ids, T* distances, const volatile bool* stop) {
        if (keogh_bounds_) keogh_bounds_->bounds(queries_.values + queries_.starts[query] * queries_.channels, bounds_);
        // a heap, because most candidates are never asked for
        waiting_.resize(size_t(items_.count));
        std::iota(waiting_.begin(), waiting_.end(), 0);
        if (keogh_bounds_) std::make_heap(waiting_.begin(), waiting_.end(), later());
        else std::reverse(waiting_.begin(), waiting_.end());
        best_.clear();
        while (!waiting_.empty() && bounds_[size_t(next())] <= limit_of_totals() && !*stop) compare(query, stop);
        for (int64_t r = 0; r < k_ && !*stop; r++) ids[r] = best_[size_t(r)].id, distances[r] = best_[size_t(r)].distance;
    }

  private:
    auto later() const {
        return [this](int64_t a, int64_t b) {
            return bounds_[size_t(a)] > bounds_[size_t(b)] || (bounds_[size_t(a)] == bounds_[size_t(b)] && a > b);
        };
    }
    int64_t next() const { return keogh_bounds_ ? waiting_.front() : waiting_.back(); }
    int64_t take() {
        if (keogh_bounds_) std::pop_heap(waiting_.begin(), waiting_.end(), later());
        const int64_t item = waiting_.back();
        waiting_.pop_back();
        return item;
    }

    T limit() const { return int64_t(best_.size()) < k_ ? T(INFINITY) : best_.back().distance; }
    // several totals have the same rounded root, and all of them must be seen
    T limit_of_totals() const {
        return rooted_ ? limit() * limit() * (1 + 8 * std::numeric_limits<T>::epsilon()) : limit();
    }

    // One register of candidates. All have one limit, the k-th best so far, and are given up together: it is the last lane to
    // pass its limit that decides.
    void compare(int64_t query, const volatile bool* stop) {
        const bool alike = traits_ & Trait::by_length;
        int64_t items[64] = {take()};
        int used = 1;
        for (; used < lanes_ && !waiting_.empty(); used++) {
            if (alike && items_.lengths[next()] != items_.lengths[items[0]]) break;
            if (bounds_[size_t(next())] > limit_of_totals()) break;
            items[used] = take();
        }
        T found[64], limits[64];
        std::fill(limits, limits + lanes_, limit_of_totals());
        tile_.set_columns(items_, items, used);
        tile_.set_rows(queries_, query);
        const bool gives_up = traits_ & Trait::grows && limit() < T(INFINITY);
        tile_.run(found, gives_up ? limits : nullptr, stop);
        for (int l = 0; l < used; l++) offer({rooted_ ? std::sqrt(found[l]) : found[l], items[l]});
    }

    void offer(Neighbor<T> one) {
        if (int64_t(best_.size()) == k_ && !(one < best_.back())) return;
        best_.insert(std::upper_bound(best_.begin(), best_.end(), one), one);
        if (int64_t(best_.size()) > k_) best_.pop_back();
    }

    const PackedSequences<T>&queries_, &items_;
    const Program<T>& program_;
    int64_t k_;
    bool rooted_;
    int lanes_, traits_;
    const KeoghBounds<T>* keogh_bounds_;
    Tile<T> tile_;
    std::vector<T> bounds_;
    std::vector<int64_t> waiting_;
    std::vector<Neighbor<T>> best_;
};

template <class T>
bool bounded(const PackedSequences<T>& queries, const PackedSequences<T>& items, const Program<T>& program, const Kernels<T>& kernel) {
    if (!(kernel.traits(program.how) & Trait::over_boxes)) return false;
    if (!program.window.open() && program.window.shape == Shape::itakura) return false;
    auto one_length = [&](const PackedSequences<T>& c) {
        return std::all_of(c.lengths, c.lengths + c.count, [&](int64_t n) { return n == items.lengths[0]; });
    };
    return one_length(queries) && one_length(items);
}

}  // namespace

template <class T>
bool search(const PackedSequences<T>& queries, const PackedSequences<T>& items, const Program<T>& program, int64_t k, bool rooted,
            int threads, int64_t* ids, T* distances, const Table& table, const Poll& poll) {
    const Kernels<T>& kernel = kernels<T>(table);
    volatile bool stop = false;
    std::unique_ptr<KeoghBounds<T>> keogh_bounds;
    if (bounded(queries, items, program, kernel)) {
        keogh_bounds = std::make_unique<KeoghBounds<T>>(items, program, kernel);
        if (!keogh_bounds->lay_out(threads, [&](int64_t) { return poll(0, queries.count); }, &stop)) return false;
    }
    threads = int(std::min<int64_t>(threads, queries.count));
    std::vector<std::unique_ptr<Searcher<T>>> searchers;
    for (int worker = 0; worker < std::max(1, threads); worker++)
        searchers.push_back(std::make_unique<Searcher<T>>(queries, items, program, k, rooted, kernel, keogh_bounds.get()));
    auto run = [&](int64_t query, int worker) {
        searchers[size_t(worker)]->run(query, ids + query * k, distances + query * k, &stop);
    };
    return run_tasks(queries.count, threads, run, [&](int64_t done) { return poll(done, queries.count); }, &stop);
}

template <class T>
bool lower_bounds(const PackedSequences<T>& queries, const PackedSequences<T>& items, const Program<T>& program, T* out,
                  const Table& table) {
    const Kernels<T>& kernel = kernels<T>(table);
    if (!bounded(queries, items, program, kernel)) return false;
    KeoghBounds<T> keogh_bounds(items, program, kernel);
    volatile bool stop = false;
    keogh_bounds.lay_out(0, [](int64_t) { return true; }, &stop);
    std::vector<T> found(size_t(items.count), T(0));
    for (int64_t query = 0; query < queries.count; query++) {
        keogh_bounds.bounds(queries.values + queries.starts[query] * queries.channels, found);
        std::copy(found.begin(), found.end(), out + query * items.count);
    }
    return true;
}

template bool lower_bounds<float>(const PackedSequences<float>&, const PackedSequences<float>&, const Program<float>&, float*,
                                  const Table&);
template bool lower_bounds<double>(const PackedSequences<double>&, const PackedSequences<double>&, const Program<double>&, double*,
                                   const Table&);
template bool search<float>(const PackedSequences<float>&, const PackedSequences<float>&, const Program<float>&, int64_t, bool, int,
                            int64_t*, float*, const Table&, const Poll&);
template bool search<double>(const PackedSequences<double>&, const PackedSequences<double>&, const Program<double>&, int64_t, bool, int,
                             int64_t*, double*, const Table&, const Poll&);

}  // namespace timelike
