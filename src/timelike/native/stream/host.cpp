// A stream of any length: blocks of samples, the rule that says when a match is certain, and Python's side of both.
#include "stream/table.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>

#include "machine/host.hpp"

namespace timelike {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct Column {
    double* distances;
    double* starts;
};

struct Match {
    int64_t start, stop;
    double distance;
};

// The match that has been seen and is not yet certain; none when `distance` is infinite.
struct Pending {
    double* distance;
    int64_t* place;  // first sample, last sample, samples seen
};

struct Turned {
    std::vector<double> reversed;
    Query query;

    Turned(const double* values, int64_t length, int64_t channels) : reversed(channels * (length + 2 * widest)) {
        query = {reversed.data(), length, channels, length + 2 * widest};
        for (int64_t i = 0; i < length; i++)
            for (int64_t c = 0; c < channels; c++)
                reversed[c * query.stride + widest + length - 1 - i] = values[i * channels + c];
    }
};

const StreamTable& kernels() {
    static constexpr const StreamTable* built[] = TIMELIKE_TABLES(stream_table);
    static const StreamTable& best = table_for({}, built);
    return best;
}

template <class T>
const Advances<T>& advances() {
    if constexpr (std::is_same_v<T, float>) return kernels().f32;
    else return kernels().f64;
}

// The paper's rule: certain when no path that began before the match's end is still cheaper than it.
void decide(double distance, double start, double threshold, int64_t now, int64_t length, Column column, Pending pending,
            std::vector<Match>& found) {
    if (*pending.distance < never) {
        const double last = double(pending.place[1]);
        bool certain = true;
        for (int64_t i = 0; i < length && certain; i++)
            certain = column.distances[i] >= *pending.distance || column.starts[i] > last;
        if (certain) {
            found.push_back({pending.place[0], pending.place[1] + 1, *pending.distance});
            *pending.distance = never;
            for (int64_t i = 0; i < length; i++)
                if (column.starts[i] <= last) column.distances[i] = never;
            if (start <= last) distance = never;
        }
    }
    if (distance <= threshold && distance < *pending.distance) {
        *pending.distance = distance;
        pending.place[0] = int64_t(start), pending.place[1] = now;
    }
}

// SPRING (Sakurai, Faloutsos and Yamamuro, 2007) over the next `count` samples.
template <class T>
void advance(const Query& query, const T* samples, int64_t count, Cost cost, double threshold, Column column,
             Pending pending, std::vector<Match>& found) {
    const int64_t m = query.length;
    const int together = kernels().together;
    double ends[widest], end_starts[widest], floors[widest];
    std::vector<double> lanes(count < together ? 0 : query.channels * widest), kept(count < together ? 0 : 2 * m);
    int64_t careful = 0;  // samples to be taken one by one, because one of them ends a match
    for (int64_t done = 0; done < count;) {
        const Block<T> block{query, samples + done * query.channels, lanes.data(), pending.place[2], column.distances,
                             column.starts, ends, end_starts, floors};
        if (!careful && *pending.distance == never && count - done >= together) {
            // many samples at once cannot stop in their middle: where one of them ends a match, the block is undone and its
            // samples are taken one by one. Matches are rare, so this is seldom paid for
            std::copy_n(column.distances, m, kept.data());
            std::copy_n(column.starts, m, kept.data() + m);
            advances<T>().many(block, cost);
            if (std::none_of(ends, ends + together, [&](double end) { return end <= threshold; })) {
                done += together, pending.place[2] += together;
                continue;
            }
            std::copy_n(kept.data(), m, column.distances);
            std::copy_n(kept.data() + m, m, column.starts);
            careful = together;
        }
        advances<T>().one(block, cost);
        decide(ends[0], end_starts[0], threshold, pending.place[2], m, column, pending, found);
        done++, pending.place[2]++;
        careful = std::max<int64_t>(0, careful - 1);
    }
}

// For every sample from `begin` on the best match that ends there: its distance, its start, and the earliest start in
// the column. Ends early, giving how far it came, where `floors` says that the values already there start late enough.
template <class T>
int64_t scan(const Query& query, const T* samples, int64_t begin, int64_t end, int64_t earliest, Cost cost, Column column,
             double* distances, double* starts, double* floors) {
    const int together = kernels().together;
    std::vector<double> lanes(query.channels * widest);
    for (int64_t now = begin; now < end;) {
        if (floors[now] >= double(earliest)) return now;
        const Block<T> block{query, samples + now * query.channels, lanes.data(), now, column.distances, column.starts,
                             distances + now, starts + now, floors + now};
        const bool whole = end - now >= together;
        (whole ? advances<T>().many : advances<T>().one)(block, cost);
        now += whole ? together : 1;
    }
    return end;
}

}  // namespace

template <class T> using Frames = Array2<const T>;
template <class T>
static std::vector<std::tuple<int64_t, int64_t, double>> advance_python(
    Frames<double> query, Frames<T> samples, int cost, double threshold, Array1<double> column, Array1<double> column_starts,
    Array1<double> pending, Array1<int64_t> place) {
    std::vector<Match> found;
    {
        nb::gil_scoped_release released;
        advance<T>(Turned(query.data(), int64_t(query.shape(0)), int64_t(query.shape(1))).query, samples.data(), int64_t(samples.shape(0)), Cost(cost), threshold,
                   {column.data(), column_starts.data()}, {pending.data(), place.data()}, found);
    }
    std::vector<std::tuple<int64_t, int64_t, double>> plain;
    for (const Match& match : found) plain.emplace_back(match.start, match.stop, match.distance);
    return plain;
}

template <class T>
static int64_t scan_python(Frames<double> query, Frames<T> samples, int64_t begin, int64_t end, int64_t earliest, int cost,
                           Array1<double> column, Array1<double> column_starts, Array1<double> distances, Array1<double> starts,
                           Array1<double> floors) {
    nb::gil_scoped_release released;
    return scan<T>(Turned(query.data(), int64_t(query.shape(0)), int64_t(query.shape(1))).query, samples.data(), begin, end, earliest, Cost(cost),
                   {column.data(), column_starts.data()}, distances.data(), starts.data(), floors.data());
}

template <class T>
static void define_for(nb::module_& module) {
    module.def("advance", &advance_python<T>, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg(),
               nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert());
    module.def("scan", &scan_python<T>, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
               nb::arg().noconvert());
}

void define_sieve(nb::module_& module);

void define_stream(nb::module_& module) {
    define_for<double>(module);
    define_for<float>(module);
    define_sieve(module);
}

}  // namespace timelike
