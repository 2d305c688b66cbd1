// The nearest other of every sequence under one window after the other, from the widest to the narrowest, as in the fast window
// search of Tan, Herrmann, Forestier, Webb and Petitjean (2018).
//
// A narrower band has fewer paths, so what a pair cost in a wider one bounds its cost from below, and while its best path is
// inside the band the cost is the same to the last bit: few pairs are compared again, and those in narrow bands.
#include <limits>
#include <numeric>

#include "elastic/tile.hpp"

namespace timelike {
namespace {

template <class T>
class WindowSearch {
  public:
    WindowSearch(const PackedSequences<T>& items, const Program<T>& program, const std::vector<Window>& bands, const T* totals, bool rooted,
              bool averaged, const Kernels<T>& kernel)
        : items_(items), bands_(bands), totals_(totals), rooted_(rooted), averaged_(averaged),
          diagonal_(bands[0].diagonal()), lanes_(kernel.lanes),
          tile_(kernel, program, longest(items), longest(items), items.channels, kernel.lanes), least_(size_t(items.count)),
          since_(size_t(items.count)) {}

    void run(int64_t query, int64_t* nearest, const volatile bool* stop) {
        stride_ = 1;
        for (int64_t j = 0; j < items_.count; j++) {
            least_[size_t(j)] = finished(totals_[query * items_.count + j], sum_of_lengths(query, j));
            since_[size_t(j)] = int64_t(bands_.size()) - 1;
        }
        for (int64_t level = int64_t(bands_.size()) - 1; level >= 0 && !*stop; level--)
            nearest[level * items_.count + query] = at(level, query, stop);
    }

  private:
    struct Neighbor {
        T distance;
        int64_t id;
        bool operator<(const Neighbor& other) const {
            return distance < other.distance || (distance == other.distance && id < other.id);
        }
    };

    int64_t at(int64_t level, int64_t query, const volatile bool* stop) {
        Neighbor best{std::numeric_limits<T>::infinity(), items_.count};
        open_.clear();
        for (int64_t j = 0; j < items_.count; j++) {
            if (j == query) continue;
            const Neighbor known{least_[size_t(j)], j};
            if (since_[size_t(j)] > level) open_.push_back(known);
            else if (known < best) best = known;
        }
        while (!*stop) {
            // a register of those that may be nearest; where these do not fill it, of those that may be soon
            const size_t used = std::min(open_.size(), size_t(lanes_));
            std::partial_sort(open_.begin(), open_.begin() + int64_t(used), open_.end());
            if (!used || !(open_[0] < best)) break;
            compare(level, query, used, best, stop);
        }
        return best.id;
    }

    void compare(int64_t level, int64_t query, size_t used, Neighbor& best, const volatile bool* stop) {
        int64_t ids[64];
        T found[64], limits[64], reach[64];
        for (size_t l = 0; l < used; l++) {
            ids[l] = open_[l].id;
            limits[l] = limit(best.distance, sum_of_lengths(query, ids[l]));
        }
        set(level, query, ids, used);
        const T* given = best.distance < std::numeric_limits<T>::infinity() ? limits : nullptr;
        if (diagonal_) tile_.run(found, reach, given, stop);
        else tile_.run(found, given, stop);
        int64_t since[64];
        for (size_t l = 0; l < used; l++)
            since[l] = diagonal_ ? narrowest(level, items_.lengths[query], items_.lengths[ids[l]], reach[l]) : level;
        if (!diagonal_ && level > 0) probe(level, query, ids, used, found, since, stop);
        if (*stop) return;
        const T given_up = std::nextafter(best.distance, std::numeric_limits<T>::infinity());
        size_t kept = 0;
        for (size_t l = 0; l < used; l++) {
            T& least = least_[size_t(ids[l])];
            if (found[l] == std::numeric_limits<T>::infinity()) {  // beyond its limit here, and in all narrower bands
                least = std::max(least, given_up);
                open_[kept++] = {least, ids[l]};
                continue;
            }
            least = finished(found[l], sum_of_lengths(query, ids[l]));
            since_[size_t(ids[l])] = since[l];
            const Neighbor known{least, ids[l]};
            if (known < best) best = known;
        }
        open_.erase(open_.begin() + int64_t(kept), open_.begin() + int64_t(used));
    }

    void set(int64_t level, int64_t query, const int64_t* ids, size_t used) {
        tile_.set_window(bands_[size_t(level)]);
        tile_.set_columns(items_, ids, int(used));
        tile_.set_rows(items_, query);
    }

    // Where no number says how wide a band a path needs, a band further down is tried: what costs the same there costs the same
    // in all between. It is further after every success.
    void probe(int64_t level, int64_t query, const int64_t* ids, size_t used, const T* found, int64_t* since,
               const volatile bool* stop) {
        const int64_t below = std::max<int64_t>(0, level - stride_);
        T narrow[64];
        set(below, query, ids, used);
        tile_.run(narrow, nullptr, stop);
        for (size_t l = 0; l < used; l++)
            if (narrow[l] == found[l]) since[l] = below;
        stride_ = narrow[0] == found[0] ? 2 * stride_ : std::max<int64_t>(1, stride_ / 2);
    }

    // the narrowest band that still holds a path of this reach
    int64_t narrowest(int64_t level, int64_t n, int64_t m, T reach) const {
        while (level > 0 && T(bands_[size_t(level - 1)].radius(n, m)) >= reach) level--;
        return level;
    }

    int64_t sum_of_lengths(int64_t a, int64_t b) const { return items_.lengths[a] + items_.lengths[b]; }

    // as NumPy finishes a total: the quotient in double precision
    T finished(T total, int64_t lengths) const {
        if (averaged_) total = T(double(total) / double(lengths));
        return rooted_ ? std::sqrt(total) : total;
    }
    // a total above this is a distance above `distance`, however it is rounded
    T limit(T distance, int64_t lengths) const {
        const T slack = rooted_ || averaged_ ? 1 + 16 * std::numeric_limits<T>::epsilon() : 1;
        return (rooted_ ? distance * distance : distance) * (averaged_ ? T(lengths) : 1) * slack;
    }

    const PackedSequences<T>& items_;
    const std::vector<Window>& bands_;
    const T* totals_;
    bool rooted_, averaged_, diagonal_;
    int lanes_;
    int64_t stride_ = 1;  // how many bands further down is tried
    Tile<T> tile_;
    std::vector<T> least_;         // what the distance to each item is at least,
    std::vector<int64_t> since_;   // and the narrowest of the bands in which it is known to be that
    std::vector<Neighbor> open_;
};

}  // namespace

template <class T>
bool nearest_by_window(const PackedSequences<T>& items, const Program<T>& program, const std::vector<Window>& bands, const T* totals,
                       bool rooted, bool averaged, int threads, int64_t* nearest, const Table& table, const Poll& poll) {
    threads = int(std::min<int64_t>(threads, items.count));
    std::vector<std::unique_ptr<WindowSearch<T>>> workers;
    for (int worker = 0; worker < std::max(1, threads); worker++)
        workers.push_back(std::make_unique<WindowSearch<T>>(items, program, bands, totals, rooted, averaged, kernels<T>(table)));
    volatile bool stop = false;
    return run_tasks(
        items.count, threads, [&](int64_t query, int worker) { workers[size_t(worker)]->run(query, nearest, &stop); },
        [&](int64_t done) { return poll(done, items.count); }, &stop);
}

#define TIMELIKE_INSTANTIATE(T)                                                                                               \
    template bool nearest_by_window<T>(const PackedSequences<T>&, const Program<T>&, const std::vector<Window>&, const T*, bool,   \
                                       bool, int, int64_t*, const Table&, const Poll&);
TIMELIKE_INSTANTIATE(float)
TIMELIKE_INSTANTIATE(double)

}  // namespace timelike
