// What becomes of the sums that go into the gates of an LSTM or GRU, for a register of units of one sequence, and the backward pass.
#pragma once
#include "machine/activations.hpp"
#include "recurrent/products.hpp"

namespace timelike {
namespace {

struct Lstm {
    static constexpr int gates = 4;
    static constexpr bool carries = true;  // a c beside h

    // gates i f g o in place, from c before the step to c after it; gives h
    template <class T>
    static vec<T> forward(T* gates, vec<T>, vec<T>& c, T*) {
        constexpr int W = lanes<T>;
        const VecPair<T> both = logistic<T>(load(gates), load(gates + W));
        const vec<T> fresh = tangent<T>(load(gates + 2 * W)), out = logistic<T>(load(gates + 3 * W));
        store(gates, both.first), store(gates + W, both.second), store(gates + 2 * W, fresh), store(gates + 3 * W, out);
        c = fused(both.second, c, both.first * fresh);
        return out * tangent<T>(c);
    }

    // from the gradients by h and c after the step: those by the sums, and by c before it; of h nothing goes straight on
    template <class T>
    static vec<T> backward(const T* gates, vec<T>, vec<T> before, vec<T> by_h, vec<T>& by_c, T* by_gates, T*) {
        constexpr int W = lanes<T>;
        const vec<T> in = load(gates), forget = load(gates + W), fresh = load(gates + 2 * W), out = load(gates + 3 * W);
        const vec<T> one = repeated(T(1)), squashed = tangent<T>(fused(forget, before, in * fresh));
        by_c = fused(by_h * out, fused(-squashed, squashed, one), by_c);
        store(by_gates, by_c * fresh * fused(-in, in, in));
        store(by_gates + W, by_c * before * fused(-forget, forget, forget));
        store(by_gates + 2 * W, by_c * in * fused(-fresh, fresh, one));
        store(by_gates + 3 * W, by_h * squashed * fused(-out, out, out));
        by_c = by_c * forget;
        return vec<T>{};
    }
};

struct Gru {
    static constexpr int gates = 3;
    static constexpr bool carries = false;

    // gates r z n in place, from the states' part of n in `extra` and the inputs' part in the third gate; gives h
    template <class T>
    static vec<T> forward(T* gates, vec<T> before, vec<T>&, T* extra) {
        constexpr int W = lanes<T>;
        const VecPair<T> both = logistic<T>(load(gates), load(gates + W));
        const vec<T> fresh = tangent<T>(fused(both.first, load(extra), load(gates + 2 * W)));
        store(gates, both.first), store(gates + W, both.second), store(gates + 2 * W, fresh);
        return fused(both.second, before - fresh, fresh);
    }

    // `by_reset` differs from `by_gates` in n: there by what is reset, here by what is added to it
    template <class T>
    static vec<T> backward(const T* gates, vec<T> before, vec<T> inner, vec<T> by_h, vec<T>&, T* by_gates, T* by_reset) {
        constexpr int W = lanes<T>;
        const vec<T> reset = load(gates), update = load(gates + W), fresh = load(gates + 2 * W);
        const vec<T> by_fresh = fused(-update, by_h, by_h) * fused(-fresh, fresh, repeated(T(1)));
        const vec<T> to_reset = by_fresh * inner * fused(-reset, reset, reset);
        const vec<T> to_update = by_h * (before - fresh) * fused(-update, update, update);
        store(by_gates, to_reset), store(by_gates + W, to_update), store(by_gates + 2 * W, by_fresh);
        store(by_reset, to_reset), store(by_reset + W, to_update), store(by_reset + 2 * W, by_fresh * reset);
        return by_h * update;
    }
};

}  // namespace
}  // namespace timelike
