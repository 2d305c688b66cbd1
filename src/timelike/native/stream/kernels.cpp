// The recurrence of stream/table.hpp, compiled once per instruction set and without contraction: one sample at a time and
// many together must give the same bits. Equal distances go to the later start, which is the shorter match.
#include "machine/simd.hpp"
#include "stream/table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

template <Cost C, bool One, class T>
void one_sample(const Block<T>& block) {
    const Query& query = block.query;
    const double now = double(block.first);
    double left = 0, left_start = now, corner = 0, corner_start = now - 1, floor = now;
    for (int64_t i = 0; i < query.length; i++) {
        const double* step = query.reversed + widest + query.length - 1 - i;
        double cost = 0;
        for (int64_t c = 0; c < (One ? 1 : query.channels); c++) {
            const double difference = double(block.samples[c]) - step[c * query.stride];
            cost += C == Cost::manhattan ? magnitude(difference) : difference * difference;
        }
        if (C == Cost::euclidean) cost = root(cost);
        const double above = block.distances[i], above_start = block.starts[i];
        double best = above, start = above_start;
        if (corner < best || (corner == best && corner_start > start)) best = corner, start = corner_start;
        if (left < best || (left == best && left_start > start)) best = left, start = left_start;
        corner = above, corner_start = above_start;
        left = block.distances[i] = cost + best;
        left_start = block.starts[i] = start;
        floor = least(floor, start);
    }
    *block.ends = left, *block.end_starts = left_start, *block.floors = floor;
}

constexpr int wide = lanes<double>, parts = wide < 8 ? 8 / wide : 2, together = wide * parts;
static_assert(together <= widest, "the query is padded for no more");
typedef decltype(vec<double>{} < vec<double>{}) Mask;

// Every lane takes the value of the one before it; the first takes the last of `before`.
inline vec<double> moved(vec<double> values, vec<double> before) {
#if defined(__clang__) && defined(__AVX512F__)
    return __builtin_shufflevector(values, before, 15, 0, 1, 2, 3, 4, 5, 6);
#elif defined(__clang__) && defined(__AVX2__)
    return __builtin_shufflevector(values, before, 7, 0, 1, 2);
#elif defined(__clang__)
    return __builtin_shufflevector(values, before, 3, 0);
#else
    Mask from;
    for (int l = 0; l < wide; l++) from[l] = l ? l - 1 : 2 * wide - 1;
    return __builtin_shuffle(values, before, from);
#endif
}

inline vec<double> every_lane(double value) { return vec<double>{} + value; }

inline void take_better(vec<double>& best, vec<double>& start, vec<double> other, vec<double> other_start) {
    const Mask better = (other < best) | ((other == best) & (other_start > start));
    best = better ? other : best;
    start = better ? other_start : start;
}

// Samples together: lane r, counted over all parts, is r steps behind lane 0 along the query, so that what a cell needs
// is a lane away. Several registers, because one waits for itself.
template <Cost C, bool One, class T>
struct Wave {
    const Block<T>& block;
    const Query query;
    vec<double> lane[parts], only[parts], value[parts], start[parts], corner[parts], corner_start[parts], floor[parts];

    explicit Wave(const Block<T>& given) : block(given), query(given.query) {
        for (int64_t c = 0; c < query.channels; c++)
            for (int r = 0; r < together; r++) block.lanes[c * together + r] = double(block.samples[r * query.channels + c]);
        __builtin_memcpy(only, block.lanes, sizeof only);
        for (int p = 0; p < parts; p++) {
            for (int l = 0; l < wide; l++) lane[p][l] = p * wide + l;
            value[p] = corner[p] = vec<double>{};
            start[p] = floor[p] = lane[p] + double(block.first);
            corner_start[p] = start[p] - 1;
        }
    }

    inline vec<double> cost(int64_t i, int p) const {
        const double* step = query.reversed + widest + query.length - 1 - i + p * wide;
        vec<double> total{};
        for (int64_t c = 0; c < (One ? 1 : query.channels); c++) {
            vec<double> frames = only[p], steps;
            if (!One) __builtin_memcpy(&frames, block.lanes + c * together + p * wide, sizeof frames);
            __builtin_memcpy(&steps, step + c * query.stride, sizeof steps);
            const vec<double> difference = frames - steps;
            total += C == Cost::manhattan ? magnitude(difference) : difference * difference;
        }
        return C == Cost::euclidean ? root(total) : total;
    }

    // `Within`: all lanes are inside the query and none is at its end
    template <bool Within>
    inline void column(int64_t i) {
        const bool inside = Within || i < query.length;
        const vec<double> entering = every_lane(inside ? block.distances[i] : infinity<double>);
        const vec<double> entering_start = every_lane(inside ? block.starts[i] : 0.0);
        for (int p = parts - 1; p >= 0; p--) {  // from the last: each needs what its neighbour was
            vec<double> here = cost(i, p);
            if (!Within) here = lane[p] > every_lane(double(i)) ? vec<double>{} : here;  // before the query: free, begun afresh
            const vec<double> above = moved(value[p], p ? value[p ? p - 1 : 0] : entering);
            const vec<double> above_start = moved(start[p], p ? start[p ? p - 1 : 0] : entering_start);
            vec<double> best = above, best_start = above_start;
            take_better(best, best_start, corner[p], corner_start[p]);
            corner[p] = above, corner_start[p] = above_start;
            take_better(best, best_start, value[p], start[p]);
            value[p] = here + best;
            start[p] = best_start;
            floor[p] = least(floor[p], best_start);
        }
        const int64_t behind = i - (together - 1);
        if (Within || behind >= 0)
            block.distances[behind] = value[parts - 1][wide - 1], block.starts[behind] = start[parts - 1][wide - 1];
        if (!Within && i >= query.length - 1) leave(int(i - (query.length - 1)));
    }

    void leave(int r) {
        const int p = r / wide, l = r % wide;
        block.ends[r] = value[p][l], block.end_starts[r] = start[p][l], block.floors[r] = floor[p][l];
    }

    void run() {
        int64_t i = 0;
        for (; i < together - 1; i++) column<false>(i);
        for (; i < query.length - 1; i++) column<true>(i);
        for (; i < query.length + together - 1; i++) column<false>(i);
    }
};

template <Cost C, class T>
void wave_of(const Block<T>& block) {
    if (block.query.channels == 1) Wave<C, true, T>(block).run();
    else Wave<C, false, T>(block).run();
}

template <class T>
void one(const Block<T>& block, Cost cost) {
    const bool single = block.query.channels == 1;
    switch (cost) {
        case Cost::sqeuclidean: return single ? one_sample<Cost::sqeuclidean, true>(block) : one_sample<Cost::sqeuclidean, false>(block);
        case Cost::euclidean: return single ? one_sample<Cost::euclidean, true>(block) : one_sample<Cost::euclidean, false>(block);
        case Cost::manhattan: return single ? one_sample<Cost::manhattan, true>(block) : one_sample<Cost::manhattan, false>(block);
    }
}

template <class T>
void many(const Block<T>& block, Cost cost) {
    switch (cost) {
        case Cost::sqeuclidean: return wave_of<Cost::sqeuclidean>(block);
        case Cost::euclidean: return wave_of<Cost::euclidean>(block);
        case Cost::manhattan: return wave_of<Cost::manhattan>(block);
    }
}

}  // namespace

extern const StreamTable stream_table;
const StreamTable stream_table = {together, {one<float>, many<float>}, {one<double>, many<double>}};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
