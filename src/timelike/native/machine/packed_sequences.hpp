// Sequences as they lie in memory, and what two of their frames may cost; Python has the same in machine/steps.py.
#pragma once
#include <stdint.h>

namespace timelike {

enum class Cost : int { sqeuclidean = 0, euclidean = 1, manhattan = 2 };

// Item i is rows starts[i] .. starts[i] + lengths[i] of values (steps, channels).
template <class T>
struct PackedSequences {
    const T* values;
    const int64_t* starts;
    const int64_t* lengths;
    int64_t count;
    int64_t channels;
};

}  // namespace timelike
