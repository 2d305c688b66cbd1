// Dilated convolutions of one series with kernels of nine taps, three of weight 2 and six of −1: how many of their outputs
// exceed thresholds, and how many in a row. rocket/__init__.py says it in full.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

constexpr int rocket_taps = 9, rocket_kernels = 84, rocket_groups = 21;

// Kernels at some dilations; the same as Bank in Python.
struct RocketBank {
    bool centred;
    int64_t dilations, slots;
    const int64_t* dilation;   // (dilation)
    const int64_t* channels;   // (dilation, group, slot), negative where a slot is not used
    const int64_t* counts;     // (dilation, kernel)
    const float* thresholds;   // (threshold), in the order of the counts

    int64_t back() const { return centred ? rocket_taps / 2 : rocket_taps - 1; }  // taps before the one that reads now
    int64_t longest() const {
        int64_t most = 0;
        for (int64_t j = 0; j < dilations; j++) most = dilation[j] > most ? dilation[j] : most;
        return most;
    }
};

struct RocketTable {
    // numbers of scratch for one worker, for series of up to so many steps
    int64_t (*scratch)(const RocketBank&, int64_t steps, int64_t channels);
    // of one series (step, channel): shares of steps above, and longest stretches, for every threshold
    void (*features)(const RocketBank&, const float* x, int64_t steps, int64_t channels, float* shares, float* stretches, float* scratch,
                     const volatile bool* stop);
};

TIMELIKE_DECLARE_TABLES(RocketTable, rocket_table)

}  // namespace timelike
