// The weights of coupled GRUs as torch has them, and packed into the order in which the kernels read them.
#pragma once
#include "coupled/table.hpp"
#include "machine/host.hpp"
#include "machine/memory.hpp"
#include "machine/length_order.hpp"

namespace timelike {
namespace {

// The parameters as torch lays them out: gates r z n, from weights (gate × hidden, hidden).
template <class T>
struct Parameters {
    const T* recurrent;  // (3 × hidden, hidden)
    const T* coupling;   // (hidden, hidden)
    const T* candidate;  // (hidden)
    const T* coupling_bias;
    int64_t hidden;
    bool mean;

    T weight(int64_t gate, int64_t unit, int64_t from) const {  // gates r z n c
        return gate < 3 ? recurrent[(gate * hidden + unit) * hidden + from] : coupling[unit * hidden + from];
    }
};

// value(inside, outside, gate) into the order (inside / block, outside, gate, inside % block); what no block is full of, one by one
template <class T, class Value>
void in_blocks(int64_t hidden, int block, T* into, const Value& value) {
    for (int64_t begin = 0, some; begin < hidden; begin += some) {
        some = begin + block <= hidden ? block : 1;
        for (int64_t outside = 0; outside < hidden; outside++)
            for (int64_t gate = 0; gate < 4; gate++)
                for (int64_t inside = begin; inside < begin + some; inside++) *into++ = value(inside, outside, gate);
    }
}

// The weights in the order in which the kernels read them.
template <class T>
class PackedWeights {
  public:
    PackedWeights(const Parameters<T>& p, int block) : weights_(buffer<T>(4 * p.hidden * p.hidden)) {
        in_blocks(p.hidden, block, weights_.get(), [&](int64_t u, int64_t k, int64_t gate) { return p.weight(gate, u, k); });
        cell = {p.hidden, weights_.get(), p.candidate, p.coupling_bias, p.mean};
    }
    CoupledCell<T> cell;

  private:
    Buffer<T> weights_;
};

// Waking threads costs more than a few small pairs.
inline int useful_threads(int threads, double pairs, double steps, double hidden) { return pairs * steps * hidden < 1e5 ? 0 : threads; }

}  // namespace
}  // namespace timelike
