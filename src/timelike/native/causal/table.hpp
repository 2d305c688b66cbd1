// Networks of causal dilated convolutions and the maximum over time of what comes out: what the T-Loss trains.
//
// Activations lie as rows, one for every step, padded to units of eight channels, so that a convolution is a product of
// rows with a matrix however long a sequence is and whatever sequences are beside it. Where there are three taps and
// a sequence is some dilations long, four steps, a dilation apart, are taken together: a product of polynomials, known from
// its values at six points (Toom and Cook), so that six products do the work of twelve.
#pragma once
#include <stdint.h>

#include "machine/isa.hpp"

namespace timelike {

constexpr int64_t causal_unit = 8;  // channels
constexpr int64_t causal_points = 6, causal_tile = 4;

static inline int64_t causal_units(int64_t channels) { return (channels + causal_unit - 1) / causal_unit; }
static inline int64_t causal_rough_units(int64_t channels) { return (causal_units(channels) + 1) / 2 * 2; }

// A convolution of `taps`, a dilation apart. Matrices (row, output) are arranged in panels of so many units of outputs
// as the registers hold, one panel after the other; their rows are (tap, input).
struct CausalLayer {
    int64_t taps, inputs, outputs, dilation;
    const float* weights;  // panels of (tap, input) × output
    const float* tiles;    // of every point panels of input × output; null unless there are three taps
    const float* bias;     // padded to units

    int64_t width() const { return causal_units(outputs) * causal_unit; }
};

struct CausalBlock {
    CausalLayer first, second;
    CausalLayer shortcut;  // one tap; no weights where the input itself is added
};

// Products in bfloat16, twice as fast where the processor has them, to find out where a maximum can be: see screen.hpp.
struct CausalBfloat16 {
    // numbers to the nearest bfloat16, a multiple of eight of them
    void (*round)(const float* from, int64_t count, uint16_t* into);
    // sums over taps and inputs, as `multiply` in rows.hpp, of rounded rows `stride` apart, taps `step` apart
    void (*multiply)(const uint16_t* rows, int64_t stride, int64_t step, int64_t reached, int64_t taps, int64_t inputs,
                     const uint16_t* matrix, const float* bias, int64_t units, int64_t count, float* out, int64_t out_stride);
    const uint16_t* matrix;  // of the last convolution, panels of (tap, pair of inputs, output padded to two units, of the pair)
    const float* errors;     // of each of its outputs, padded to units: how wrong a sum may be for every unit of ‖what is seen‖
    const float* slacks;     // and apart from that
    float largest;           // of `errors`
    const float* columns;    // its weights once more, every unit of outputs a panel of its own
};

struct CausalStack {
    int64_t channels, count;  // of the input; blocks, the last of which is followed by the maximum
    const CausalBlock* blocks;
    float slope;  // of the leaky ReLUs
    const CausalBfloat16* rough;  // null where the processor has no bfloat16
};

// The same layers from outputs to inputs, for the gradients: the tap k reads k dilations later. The last block is another
// matter, see last_block.hpp: its layers are plain matrices.
struct CausalTransposed {
    const CausalBlock* blocks;  // all but the last
    const float* last_first;    // panels of output × (tap, input padded to units)
    const float* last_second;   // (output, tap, input padded to units)
    const float* last_shortcut; // (output, input padded to units), or null
};

// Where gradients are added, for one layer: (tap, input, output padded), (point, input, output padded), (output padded).
// In the last block: `second` as (output, tap, input padded), the shortcut as (output, input padded).
struct CausalSums {
    float *weights, *tiles, *bias;
};
struct CausalBlockSums {
    CausalSums first, second, shortcut;
};

struct CausalTable {
    // units of the panel that begins with unit `first` of `units`
    int64_t (*panel)(int64_t units, int64_t first);
    // numbers of scratch for one worker, and of what the gradients need of a sequence of so many steps
    int64_t (*scratch)(const CausalStack&, int64_t length, bool gradients);
    int64_t (*kept)(const CausalStack&, int64_t length);
    // the maxima (output of the last block) of a sequence (length, channels), and of each twice the first step where it is,
    // plus one where what goes into the last leaky ReLU is positive there; `keep` may be null
    void (*forward)(const CausalStack&, const float* x, int64_t length, float* out, int64_t* where, float* keep, float* scratch,
                    const volatile bool* stop);
    // from gradients of the maxima: those of the weights, added, and that of the sequence unless `to_x` is null
    void (*backward)(const CausalStack&, const CausalTransposed&, const float* x, int64_t length, const int64_t* where, const float* gradient,
                     const float* keep, const CausalBlockSums* sums, float* to_x, float* scratch, const volatile bool* stop);
};

TIMELIKE_DECLARE_TABLES(CausalTable, causal_table)

#if defined(TIMELIKE_HAS_bfloat16)
extern const CausalBfloat16 causal_rough;  // the functions alone
#endif

}  // namespace timelike
