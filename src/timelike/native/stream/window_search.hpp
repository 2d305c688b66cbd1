// One query against all windows of its length in a stream, each window brought to mean 0 and deviation 1 as it is read:
// bounds from below that are cheap, then the warped distance of what they leave over.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"
#include "machine/packed_sequences.hpp"

namespace timelike {

constexpr int most_windows = 16;  // looked at together at most

// A row per channel everywhere, so that one step of neighbouring windows is neighbouring numbers. What belongs to the
// stream has `most_windows` numbers more at the end of a row than are meant.
struct WindowQuery {
    const double* query;     // (channel, length)
    const double* low;       // the least and the largest of the query within `radius` steps
    const double* high;
    const double* samples;   // (channel, time)
    const double* floors;    // the same of the stream
    const double* ceilings;
    const double* means;     // (channel, window)
    const double* scales;    // 1 / deviation, 0 for a constant window
    const int64_t* order;    // the steps of the query, the farthest from its mean first: these soon tell windows apart
    int64_t length, channels, radius, sample_row, window_row;
};

struct WindowKernels {
    int together;  // windows looked at at once
    // LowerBounds from below of the windows from `first` on; whether they are as good as they get, or were left where all
    // had passed the limit.
    bool (*bound)(const WindowQuery&, Cost, int64_t first, double limit, double* bounds);
    // The totals of the windows at `starts`, exact, or bounds where all had passed the limit (then false). It works in
    // scratch of most_windows × (length × (channels + 3) + 8) numbers.
    bool (*warp)(const WindowQuery&, Cost, const int64_t* starts, double limit, double* scratch, double* totals);
};

TIMELIKE_DECLARE_TABLES(WindowKernels, window_kernels)

}  // namespace timelike
