// Features of many series: threads, scratch memory, and Python's side of it.
#include "rocket/table.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "machine/host.hpp"
#include "machine/memory.hpp"
#include "machine/pool.hpp"
#include "machine/length_order.hpp"

namespace timelike {
namespace {

const RocketTable* const built[] = TIMELIKE_TABLES(rocket_table);

constexpr int64_t small = 1 << 22;  // comparisons that are made before a thread would have woken up

// Every series by itself: no feature depends on the others, or on who computes it. Shares come first, then stretches.
void features(const RocketTable& kernels, const RocketBank& bank, const PackedSequences<float>& x, int64_t thresholds, float* out, int64_t stride,
              int threads, const Poll& poll) {
    const int64_t room = kernels.scratch(bank, longest(x), x.channels);
    std::vector<Buffer<float>> make_workspaces;
    for (int w = 0; w < std::max(1, threads); w++) make_workspaces.push_back(buffer<float>(room));
    const std::vector<int64_t> order = by_length(x);
    volatile bool stop = false;
    const auto work = [&](int64_t task, int worker) {
        const int64_t item = order[size_t(x.count - 1 - task)];  // the longest first: threads end at about the same time
        float* const own = out + item * stride;
        kernels.features(bank, x.values + x.starts[item] * x.channels, x.lengths[item], x.channels, own, own + thresholds,
                         make_workspaces[size_t(worker)].get(), &stop);
    };
    run_tasks(x.count, threads, work, [&](int64_t done) { return poll(done, x.count); }, &stop);
}

// What would read elsewhere: a bank may come from a file.
bool sensible(const RocketBank& bank, int64_t channels, int64_t thresholds) {
    const int64_t groups = bank.dilations * rocket_groups;
    bool good = bank.slots > 0 && bank.slots <= std::max<int64_t>(channels, 1);
    for (int64_t j = 0; j < bank.dilations; j++) good &= bank.dilation[j] >= 1 && bank.dilation[j] < int64_t(1) << 40;
    for (int64_t g = 0; g < groups * bank.slots; g++) good &= bank.channels[g] < channels;
    for (int64_t g = 0; good && g < groups; g++) good &= bank.channels[g * bank.slots] >= 0;
    for (int64_t k = 0; k < bank.dilations * rocket_kernels; k++) good &= bank.counts[k] >= 0 && bank.counts[k] <= thresholds;
    return good;
}

void refuse(bool wrong, const char* what) {
    if (wrong) throw std::invalid_argument(what);
}

}  // namespace

using Series = std::tuple<Array2<const float>, Ids, Ids>;
using Given = std::tuple<Ids, Array3<const int64_t>, Array2<const int64_t>, Array1<const float>>;  // the arrays of Bank in Python

void define_rocket(nb::module_& module) {
    module.def(
        "rocket_features",
        [](const Series& series, const Given& given, int64_t first, int threads, Array2<float> out, bool centred, Isa isa) {
            const auto& [x, starts, lengths] = series;
            const auto& [dilations, channels, counts, thresholds] = given;
            const RocketTable& kernels = table_for(isa, built);
            const RocketBank bank{centred, int64_t(dilations.size()), int64_t(channels.shape(2)), dilations.data(), channels.data(),
                                  counts.data(), thresholds.data()};
            refuse(counts.shape(0) != dilations.size() || counts.shape(1) != size_t(rocket_kernels), "expected counts (dilation, 84)");
            refuse(channels.shape(0) != dilations.size() || channels.shape(1) != size_t(rocket_groups), "expected channels (dilation, 21, slot)");
            // before they are added up: sums of large counts wrap around
            refuse(!sensible(bank, int64_t(x.shape(1)), int64_t(thresholds.size())),
                   "expected dilations of at least 1, channels that there are, and counts of at least 0 and at most the thresholds");
            const int64_t number = std::accumulate(counts.data(), counts.data() + counts.size(), int64_t(0));
            refuse(number != int64_t(thresholds.size()), "expected as many thresholds as are counted");
            refuse(first < 0 || first + 2 * number > int64_t(out.shape(1)) || out.shape(0) != lengths.size(), "out is too small");
            if (lengths.size() == 0 || number == 0) return;
            const PackedSequences<float> all = packed_sequences(x, starts, lengths);
            const int64_t steps = std::accumulate(all.lengths, all.lengths + all.count, int64_t(0));
            ProgressPoll{nb::none(), {}}.over([&](const Poll& poll) {
                features(kernels, bank, all, number, out.data() + first, int64_t(out.shape(1)), steps * number < small ? 0 : threads, poll);
            });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::kw_only(), nb::arg("threads"), nb::arg("out").noconvert(), nb::arg("centred") = false,
        nb::arg("isa") = nb::none());
}

}  // namespace timelike
