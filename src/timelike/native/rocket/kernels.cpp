// The convolutions of rocket/table.hpp, compiled once per instruction set. Every output is ((3a + 3b) + 3c) − s, s the sum of
// nine taps from the earliest on, without contraction: a comparison must not depend on the instruction set.
//
// Comparisons are most of the work. Those of 64 steps with one threshold are the bits of a word, which is counted and
// searched for long stretches as a whole; outputs stay in registers until all thresholds of a kernel have had them.
#include "machine/simd.hpp"
#include "rocket/table.hpp"

namespace timelike {
namespace TIMELIKE_ISA {
namespace {

constexpr int W = lanes<float>, word_bits = 64;
constexpr int64_t block = 2048;  // steps whose inputs stay in the first cache while all kernels pass
constexpr int64_t words = block / word_bits;

inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t rounded(int64_t count) { return (count + 15) / 16 * 16; }

// Where a > b, a bit for each step; what is not a number exceeds nothing.
struct Outputs {
    vec<float> of[word_bits / W];

    inline uint64_t above(float threshold) const {
        const vec<float> bound = vec<float>{} + threshold;
#if defined(__AVX512F__) && defined(__AVX512BW__)
        __mmask16 part[4];
        for (int i = 0; i < 4; i++) part[i] = _mm512_cmp_ps_mask((__m512)of[i], (__m512)bound, _CMP_GT_OQ);
        return _mm512_kunpackd(_mm512_kunpackw(part[3], part[2]), _mm512_kunpackw(part[1], part[0]));
#else
        uint64_t word = 0;
        for (int i = 0; i < word_bits / W; i++) word |= uint64_t(bits(of[i] > bound)) << (i * W);
        return word;
#endif
    }
    template <class Mask>
    static inline uint32_t bits(Mask mask) {
#if defined(__AVX2__)
        return uint32_t(_mm256_movemask_ps((__m256)mask));
#elif defined(__SSE2__)
        return uint32_t(_mm_movemask_ps((__m128)mask));
#else
        uint32_t found = 0;
        for (int l = 0; l < W; l++) found |= uint32_t(mask[l] & 1) << l;
        return found;
#endif
    }
};

// What a kernel reads: three times the series as its three taps see it, and the sums of all nine.
struct TapInputs {
    const float *a, *b, *c, *sums;

    inline Outputs outputs(int64_t t) const {
        Outputs found;
        for (int i = 0; i < word_bits / W; i++, t += W) found.of[i] = load(a + t) + load(b + t) + load(c + t) - load(sums + t);
        return found;
    }
};

typedef vec<uint64_t> Words;
constexpr int V = lanes<uint64_t>;

// The longest stretch of ones in every word, 63 at most. First where 2, 4, …, 32 ones begin; then from a half to all of it as
// far as there are any. No word waits for another, and nothing is to be guessed: outputs are too irregular for that.
inline Words longest_within(Words word) {
    Words begin[6] = {word}, now = ~Words{}, length{};
    for (int level = 1; level < 6; level++) begin[level] = begin[level - 1] & (begin[level - 1] >> (1 << (level - 1)));
    for (int level = 5; level >= 0; level--) {
        const Words longer = now & (begin[level] >> length), some = (Words)(longer != 0);
        now = (longer & some) | (now & ~some);
        length += some & uint64_t(1 << level);
    }
    return length;
}

// How many steps so far were above a threshold, how many of them at the end, and the most that followed each other.
struct RunLengths {
    int64_t count, run, longest;

    inline void add(uint64_t word, int64_t within) {
        const uint64_t below = ~word;
        const int64_t first = below ? __builtin_ctzll(below) : word_bits, last = below ? __builtin_clzll(below) : run + word_bits;
        count += __builtin_popcountll(word);
        longest = larger(larger(longest, within), run + first);
        run = last;
    }
};

// Steps from `begin` to `end`, no more than a block; unless they end the series, they are a multiple of 64.
void compare(const TapInputs& read, int64_t begin, int64_t end, const float* thresholds, int64_t number, uint64_t* found, RunLengths* into) {
    const int64_t whole = (end - begin) / word_bits, rest = (end - begin) % word_bits, all = whole + (rest > 0);
    for (int64_t w = 0; w < all; w++) {
        const Outputs outputs = read.outputs(begin + w * word_bits);
        for (int64_t n = 0; n < number; n++) found[n * words + w] = outputs.above(thresholds[n]);
    }
    for (int64_t n = 0; n < number; n++) {
        uint64_t *const own = found + n * words, within[words];
        if (rest) own[whole] &= (uint64_t(1) << rest) - 1;
        for (int64_t w = 0; w < all; w += V) store(within + w, longest_within(load(own + w)));
        RunLengths tally = into[n];
        for (int64_t w = 0; w < all; w++) tally.add(own[w], int64_t(within[w]));
        into[n] = tally;
    }
}

// Scratch of one series: channels apart; the series that a group sees and three times it, each between as many zeros as the
// longest kernel looks back and ahead on; sums of taps; the words of a kernel's thresholds; and tallies.
struct Workspace {
    int64_t steps, back, reach, stride, padded;  // `back`: dilations between the first tap and the step an output is for
    float *columns, *series, *thrice, *sums;
    uint64_t* found;
    RunLengths* tallies;
    int64_t size;  // in floats

    Workspace(const RocketBank& bank, int64_t steps, int64_t channels, float* scratch)
        : steps(steps),
          back(bank.back()),
          reach(rounded(back * bank.longest())),
          stride(rounded(steps + word_bits)),
          padded(reach + stride + rounded((rocket_taps - 1 - back) * bank.longest())) {
        int64_t of_kernel = 0, of_dilation = 0;  // thresholds at most
        for (int64_t j = 0; j < bank.dilations; j++) {
            int64_t all = 0;
            for (int k = 0; k < rocket_kernels; k++) {
                const int64_t own = bank.counts[j * rocket_kernels + k];
                all += own, of_kernel = larger(of_kernel, own);
            }
            of_dilation = larger(of_dilation, all);
        }
        found = reinterpret_cast<uint64_t*>(scratch);
        tallies = reinterpret_cast<RunLengths*>(found + of_kernel * words);
        series = scratch + rounded(int64_t((of_kernel * words * sizeof(uint64_t) + of_dilation * sizeof(RunLengths)) / sizeof(float)));
        thrice = series + padded, sums = thrice + padded, columns = sums + stride;
        size = columns + (channels > 1 ? channels * stride : 0) - scratch;
    }

    // also behind the end, as far as registers read
    void clear_around() const {
        for (int64_t t = 0; t < reach; t++) series[t] = thrice[t] = 0;
        for (int64_t t = reach + steps; t < padded; t++) series[t] = thrice[t] = 0;
    }
    void take_apart(const float* x, int64_t channels) const {
        for (int64_t c = 0; c < channels; c++)
            for (int64_t t = 0; t < steps; t++) columns[c * stride + t] = x[t * channels + c];
    }
    // the sum of the channels in the slots
    void take(const float* x, int64_t channels, const int64_t* slots, int64_t number) const {
        float* const into = series + reach;
        const float* first = channels > 1 ? columns + slots[0] * stride : x;
        for (int64_t t = 0; t < steps; t++) into[t] = first[t];
        for (int64_t s = 1; s < number && slots[s] >= 0; s++) {
            const float* more = columns + slots[s] * stride;
            for (int64_t t = 0; t < steps; t++) into[t] += more[t];
        }
        for (int64_t t = 0; t < steps; t++) thrice[reach + t] = 3 * into[t];
    }
    // sums of the nine taps
    void add_up(int64_t dilation) const {
        const float* const from = series + reach - back * dilation;
        for (int64_t t = 0; t < steps; t += W) {
            vec<float> sum = load(from + t);
            for (int k = 1; k < rocket_taps; k++) sum += load(from + t + k * dilation);
            store(sums + t, sum);
        }
    }
    TapInputs read(const int (&taps)[3], int64_t dilation) const {
        const float* const first = thrice + reach - back * dilation;
        return {first + taps[0] * dilation, first + taps[1] * dilation, first + taps[2] * dilation, sums};
    }
};

struct TapTriples {
    int taps[rocket_kernels][3];

    constexpr TapTriples() : taps() {
        int kernel = 0;
        for (int i = 0; i < rocket_taps; i++)
            for (int j = i + 1; j < rocket_taps; j++)
                for (int k = j + 1; k < rocket_taps; k++) taps[kernel][0] = i, taps[kernel][1] = j, taps[kernel][2] = k, kernel++;
    }
};
constexpr TapTriples triples;

// The steps at which a kernel's outputs count: odd ones do not look beyond the series, unless there is nothing else.
struct OutputRange {
    int64_t first, end;

    OutputRange(int64_t steps, int64_t dilation, int64_t back, int64_t number) : first(0), end(steps) {
        if (number % 2 && steps > (rocket_taps - 1) * dilation) first = back * dilation, end = steps - (rocket_taps - 1 - back) * dilation;
    }
};

constexpr uint32_t every_group = (uint32_t(1) << rocket_groups) - 1;

// The first of the groups that are left, and all that see the same channels: with two channels there are three sums of them.
uint32_t alike(const int64_t* channels, int64_t slots, uint32_t left) {
    const int first = __builtin_ctz(left);
    uint32_t found = 0;
    for (int group = first; group < rocket_groups; group++) {
        bool same = left >> group & 1;
        for (int64_t s = 0; s < slots; s++) same &= channels[group * slots + s] == channels[first * slots + s];
        found |= uint32_t(same) << group;
    }
    return found;
}

int64_t scratch(const RocketBank& bank, int64_t steps, int64_t channels) { return Workspace(bank, steps, channels, nullptr).size; }

void features(const RocketBank& bank, const float* x, int64_t steps, int64_t channels, float* shares, float* stretches, float* memory,
              const volatile bool* stop) {
    const Workspace workspace(bank, steps, channels, memory);
    const bool one = channels == 1;
    workspace.clear_around();
    if (one) workspace.take(x, 1, bank.channels, bank.slots);
    else workspace.take_apart(x, channels);
    const float* thresholds = bank.thresholds;
    for (int64_t j = 0; j < bank.dilations && !*stop; j++) {
        const int64_t dilation = bank.dilation[j], *const number = bank.counts + j * rocket_kernels;
        int64_t at[rocket_kernels + 1] = {};
        for (int k = 0; k < rocket_kernels; k++) at[k + 1] = at[k] + number[k];
        const int64_t all = at[rocket_kernels];
        for (int64_t f = 0; f < all; f++) workspace.tallies[f] = {};
        if (one) workspace.add_up(dilation);
        for (uint32_t left = every_group, now = left; left; left &= ~now) {
            if (!one) {
                const int64_t* const of_dilation = bank.channels + j * rocket_groups * bank.slots;
                now = alike(of_dilation, bank.slots, left);
                workspace.take(x, channels, of_dilation + __builtin_ctz(now) * bank.slots, bank.slots);
                workspace.add_up(dilation);
            }
            for (int64_t begin = 0; begin < steps; begin += block)
                for (int k = 0; k < rocket_kernels; k++) {
                    const OutputRange counted(steps, dilation, workspace.back, j + k);
                    const int64_t from = counted.first + begin, to = smaller(from + block, counted.end);
                    if (from < to && number[k] && (now >> k % rocket_groups & 1))
                        compare(workspace.read(triples.taps[k], dilation), from, to, thresholds + at[k], number[k], workspace.found, workspace.tallies + at[k]);
                }
        }
        for (int k = 0; k < rocket_kernels; k++) {
            const OutputRange counted(steps, dilation, workspace.back, j + k);
            const float seen = float(counted.end - counted.first);
            for (int64_t f = at[k]; f < at[k + 1]; f++) {
                const RunLengths& tally = workspace.tallies[f];
                shares[f] = float(tally.count) / seen;
                stretches[f] = float(larger(tally.longest, tally.run)) / seen;
            }
        }
        shares += all, stretches += all, thresholds += all;
    }
}

}  // namespace

extern const RocketTable rocket_table;
const RocketTable rocket_table = {scratch, features};

}  // namespace TIMELIKE_ISA
}  // namespace timelike
