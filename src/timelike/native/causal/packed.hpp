// The weights of a causal network as its kernels read them, and the gradients that they leave as they were given.
#pragma once
#include <stddef.h>

#include <utility>
#include <vector>

#include "causal/table.hpp"

namespace timelike {

using Numbers = std::vector<float>;

// One convolution as Python gives it: (tap, input, output) and (output).
struct GivenLayer {
    const float *weights, *bias;
    int64_t taps, inputs, outputs;
};

// Two convolutions, and the weights (output, input) and the bias of a shortcut, null where there is none.
struct GivenBlock {
    GivenLayer first, second;
    const float *shortcut, *shortcut_bias;
};

enum class Purpose { sizes, values, gradients };

// Keeps the arranged weights alive that its structures point to; nothing arranged where only sizes are asked for.
class CausalPacked {
public:
    CausalPacked(const CausalTable& kernels, const std::vector<GivenBlock>& given, float slope, Purpose purpose,
                 const CausalRough* rough = nullptr);
    CausalPacked(const CausalPacked&) = delete;

    CausalStack stack;
    CausalTurned turned;

private:
    template <class Value> void arrange(int64_t rows, int64_t outputs, const Value& value, float* into);
    template <class Value> const float* arranged(int64_t rows, int64_t outputs, const Value& value);
    float* room(int64_t count);  // zeros
    const float* padded_bias(const float* bias, int64_t outputs);
    CausalLayer layer(const GivenLayer& given, int64_t dilation, bool round);
    CausalLayer shortcut(const GivenBlock& block, bool round);
    void turn_last(const GivenBlock& block);
    void roughen(const GivenLayer& layer, const CausalRough& functions);

    const CausalTable& kernels;
    Purpose purpose;
    std::vector<Numbers> memory;
    std::vector<uint16_t> halves;
    CausalRough rough;
    std::vector<CausalBlock> forwards, backwards;
};

// Gradients of all weights in `memory`, which has room for `size` numbers. Those of several are added up by `collect`.
class CausalAdded {
public:
    CausalAdded(const CausalStack& stack, float* memory);
    static int64_t size(const CausalStack& stack);

    std::vector<CausalBlockSums> blocks;
    int64_t used = 0;

private:
    float* room(int64_t count);
    float* const memory;
};

// Where the gradients of a block go, laid out as it was given; the shortcut's are null where there is none.
struct WantedBlock {
    float *first, *first_bias, *second, *second_bias, *shortcut, *shortcut_bias;
};
// One block at a time, so that several threads can share the work.
void collect(const CausalStack& stack, int64_t block, const std::vector<CausalAdded>& added, const WantedBlock& to);

}  // namespace timelike
