// What becomes of the sums that go into the gates of an LSTM or GRU, for a register of units of one sequence, and the way back.
#pragma once
#include "machine/squash.hpp"
#include "recurrent/products.hpp"

namespace timelike {
namespace {

struct Lstm {
    static constexpr int gates = 4;
    static constexpr bool carries = true;  // a c beside h

    // gates i f g o in place, from c before the step to c after it; gives h
    static V forward(float* gates, V, V& c, float*) {
        const Two<float> both = logistic<float>(load(gates), load(gates + W));
        const V fresh = tangent<float>(load(gates + 2 * W)), out = logistic<float>(load(gates + 3 * W));
        store(gates, both.first), store(gates + W, both.second), store(gates + 2 * W, fresh), store(gates + 3 * W, out);
        c = fused(both.second, c, both.first * fresh);
        return out * tangent<float>(c);
    }

    // from the gradients by h and c after the step: those by the sums, and by c before it; of h nothing goes straight on
    static V backward(const float* gates, V, V before, V by_h, V& by_c, float* by_gates, float*) {
        const V in = load(gates), forget = load(gates + W), fresh = load(gates + 2 * W), out = load(gates + 3 * W);
        const V one = repeated(1.0f), squashed = tangent<float>(fused(forget, before, in * fresh));
        by_c = fused(by_h * out, fused(-squashed, squashed, one), by_c);
        store(by_gates, by_c * fresh * fused(-in, in, in));
        store(by_gates + W, by_c * before * fused(-forget, forget, forget));
        store(by_gates + 2 * W, by_c * in * fused(-fresh, fresh, one));
        store(by_gates + 3 * W, by_h * squashed * fused(-out, out, out));
        by_c = by_c * forget;
        return V{};
    }
};

struct Gru {
    static constexpr int gates = 3;
    static constexpr bool carries = false;

    // gates r z n in place, from the states' part of n in `extra` and the inputs' part in the third gate; gives h
    static V forward(float* gates, V before, V&, float* extra) {
        const Two<float> both = logistic<float>(load(gates), load(gates + W));
        const V fresh = tangent<float>(fused(both.first, load(extra), load(gates + 2 * W)));
        store(gates, both.first), store(gates + W, both.second), store(gates + 2 * W, fresh);
        return fused(both.second, before - fresh, fresh);
    }

    // `by_reset` differs from `by_gates` in n: there by what is reset, here by what is added to it
    static V backward(const float* gates, V before, V inner, V by_h, V&, float* by_gates, float* by_reset) {
        const V reset = load(gates), update = load(gates + W), fresh = load(gates + 2 * W);
        const V by_fresh = fused(-update, by_h, by_h) * fused(-fresh, fresh, repeated(1.0f));
        const V to_reset = by_fresh * inner * fused(-reset, reset, reset);
        const V to_update = by_h * (before - fresh) * fused(-update, update, update);
        store(by_gates, to_reset), store(by_gates + W, to_update), store(by_gates + 2 * W, by_fresh);
        store(by_reset, to_reset), store(by_reset + W, to_update), store(by_reset + 2 * W, by_fresh * reset);
        return by_h * update;
    }
};

}  // namespace
}  // namespace timelike
