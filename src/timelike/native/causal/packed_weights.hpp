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

// VecPair convolutions, and the weights (output, input) and the bias of a shortcut, null where there is none.
struct GivenBlock {
    GivenLayer first, second;
    const float *shortcut, *shortcut_bias;
};

enum class Purpose { sizes, values, gradients };

// Keeps the arranged weights alive that its structures point to; nothing arranged where only sizes are requested.
class CausalPackedWeights {
public:
    CausalPackedWeights(const CausalTable& kernels, const std::vector<GivenBlock>& given, float slope, Purpose purpose,
                 const CausalBfloat16* rough = nullptr);
    CausalPackedWeights(const CausalPackedWeights&) = delete;

    CausalStack stack;
    CausalTransposed turned;

private:
    template <class Value> void arrange(int64_t rows, int64_t outputs, const Value& value, float* into);
    template <class Value> const float* arranged(int64_t rows, int64_t outputs, const Value& value);
    float* room(int64_t count);  // zeros
    const float* padded_bias(const float* bias, int64_t outputs);
    CausalLayer layer(const GivenLayer& given, int64_t dilation, bool round);
    CausalLayer shortcut(const GivenBlock& block, bool round);
    void turn_last(const GivenBlock& block);
    void roughen(const GivenLayer& layer, const CausalBfloat16& functions);

    const CausalTable& kernels;
    Purpose purpose;
    std::vector<Numbers> memory;
    std::vector<uint16_t> halves;
    CausalBfloat16 rough;
    std::vector<CausalBlock> forwards, backwards;
};

// Gradients of all weights in `memory`, which has room for `size` numbers. Those of several are added up by `collect`.
class CausalGradientSums {
public:
    CausalGradientSums(const CausalStack& stack, float* memory);
    static int64_t size(const CausalStack& stack);

    std::vector<CausalBlockSums> blocks;
    int64_t used = 0;

private:
    float* room(int64_t count);
    float* const memory;
};

// Where the gradients of a block go, laid out as it was given; the shortcut's are null where there is none.
struct BlockGradientOutputs {
    float *first, *first_bias, *second, *second_bias, *shortcut, *shortcut_bias;
};
// One block at a time, so that several threads can share the work.
void collect(const CausalStack& stack, int64_t block, const std::vector<CausalGradientSums>& added, const BlockGradientOutputs& to);

}  // namespace timelike
