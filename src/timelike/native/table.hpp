// What the instruction-set specific objects offer: one table of functions per instruction set.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace timelike {

enum class Cost : int { sqeuclidean = 0, euclidean = 1, manhattan = 2 };

// Sequences as they lie in memory: item i is rows starts[i] .. starts[i] + lengths[i] of values (steps, channels).
template <class T>
struct Collection {
    const T* values;
    const int64_t* starts;
    const int64_t* lengths;
    int64_t count;
    int64_t channels;
};

// Columns lo[i] ..= hi[i] that row i may visit; both grow with i.
struct Band {
    const int32_t* lo;
    const int32_t* hi;
};

// One sequence x against `used` sequences of y that share the vector's lanes.
template <class T>
struct Lanes {
    const T* interleaved;  // (time, channel, lane), padded with zeros to `length`
    const int64_t* lengths;
    int64_t length;  // of the longest
    int used;
};

template <class T>
struct Kernels {
    int lanes;
    void (*interleave)(const Collection<T>&, const int64_t* items, int used, int64_t length, T* into);
    // `row` is scratch of (length + 1) × lanes; `stop` ends the work early
    void (*dtw)(const T* x, int64_t n, int64_t channels, const Lanes<T>& y, Band band, Cost cost, T* row, T* distances,
                const volatile bool* stop);
    // fills `path` from its end with (i, j) pairs and gives their number; `directions` is scratch of n × ceil(m/4) bytes
    int64_t (*dtw_path)(const T* x, int64_t n, const T* y, int64_t m, int64_t channels, Band band, Cost cost, T* row,
                        uint8_t* directions, int64_t* path, T* distance, const volatile bool* stop);
};

struct Table {
    const char* name;
    Kernels<float> f32;
    Kernels<double> f64;
};

namespace v2 { extern const Table table; }
namespace v3 { extern const Table table; }
namespace v4 { extern const Table table; }
namespace generic { extern const Table table; }

// The best table this processor can run, or the one TIMELIKE_ISA names.
const Table& chosen();
const Table* named(const char* name);

template <class T> const Kernels<T>& kernels(const Table& table);
template <> inline const Kernels<float>& kernels<float>(const Table& table) { return table.f32; }
template <> inline const Kernels<double>& kernels<double>(const Table& table) { return table.f64; }

}  // namespace timelike
