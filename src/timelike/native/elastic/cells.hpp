// The recurrences: one small struct each, and the list of them at the end of this file. `V` is a register of pairs or a
// scalar; rows are scalars, columns are V.
//
// A cell is told the column (`enter`), then asked for row after row of it: `value` from the values left, diagonal and
// above. `way` says which of the three it came from. Costs of R rows against the column are made together in `enter`.
// What the schedules and the search have to know of a rule is in its `traits` (table.hpp).
#pragma once
#include "machine/simd.hpp"
#include "elastic/table.hpp"

namespace timelike {
namespace {

enum Way : uint8_t { diagonally = 0, upwards = 1, leftwards = 2 };  // ties go to the first of these

// Distances of R frames of x to one frame of y. With one channel and squares, the difference is kept and squared when it
// is added, in one rounding.
template <Cost C, bool One, int R, class T, class V>
struct Costs {
    static constexpr bool squares_later = One && C == Cost::sqeuclidean;
    V kept[R];

    // x is packed, (channel, stride), so that its rows are read at fixed distances; y minus x, not x minus y, because a
    // broadcast from memory can be the second operand of a subtraction
    inline void make(const T* x, int64_t stride, const V* y, int64_t channels) {
        if constexpr (One) {
            for (int r = 0; r < R; r++) kept[r] = squares_later ? V(y[0] - x[r]) : magnitude(V(y[0] - x[r]));
            return;
        }
        for (int r = 0; r < R; r++) kept[r] = V{};
        for (int64_t c = 0; c < channels; c++) {
            V column = y[c];
            for (int r = 0; r < R; r++) {
                V difference = column - x[c * stride + r];
                kept[r] = C == Cost::manhattan ? V(kept[r] + magnitude(difference)) : fused(difference, difference, kept[r]);
            }
        }
        if constexpr (C == Cost::euclidean)
            for (int r = 0; r < R; r++) kept[r] = root(kept[r]);
    }
    inline V cost(int r) const { return squares_later ? V(kept[r] * kept[r]) : kept[r]; }
    inline V plus(int r, V value) const { return squares_later ? fused(kept[r], kept[r], value) : V(kept[r] + value); }
};

// Where a pass stands: rows from `i` on, and the columns' data.
template <class T, class V>
struct Place {
    const Rows<T>& rows;  // by reference: a copy would wait for the stores that have just written it
    int64_t i;
    int64_t columns;
    const V* y;
    const V* edge_y;
    V threshold;
    T* packed;  // rows i − 1 … i + R − 1 by channel, (channel, R + 1)
    V above = V{}, below = V{};  // by how much the band is widened on either side of the diagonal
    T steps_low[8] = {}, steps_high[8] = {};  // of one channel: the steps back from each row, negative and positive part

    V scales = V{};  // all channels over so many, by lane, for rules that leave out some

    const T* x() const { return rows.x + i * rows.channels; }

    // all channels over `shared` of them, 0 over none: by division, or looked up where a register holds all answers
    inline V scaling(V shared) const {
#if !defined(__clang__)
        if constexpr (sizeof(V) > sizeof(T))
            if (rows.channels < lanes<T>) return __builtin_shuffle(scales, __builtin_convertvector(shared, decltype(V{} < V{})));
#endif
        return shared > V{} ? T(rows.channels) / shared : V{};
    }

    // row i − 1 only for cells that look back: it may lie before the caller's memory
    template <class Cell, int R> void pack() {
        constexpr bool looks_back = Cell::traits & Trait::looks_back;
        if constexpr (sizeof(V) > sizeof(T) && Cell::traits & Trait::missing)
            for (int k = 1; k < lanes<T>; k++) scales[k] = T(rows.channels) / T(k);
        for (int64_t c = 0; c < rows.channels; c++)
            for (int r = looks_back ? 0 : 1; r <= R; r++)
                packed[c * (R + 1) + r] = x()[(r - 1) * rows.channels + c];
        if constexpr (looks_back)
            for (int r = 0; r < R; r++) {
                const T step = packed[r] - packed[r + 1];
                steps_low[r] = least(step, T(0)), steps_high[r] = most(step, T(0));
            }
    }
};

template <class V>
inline Way cheapest(V diagonal, V above, V before) {
    return diagonal <= above && diagonal <= before ? diagonally : above <= before ? upwards : leftwards;
}

// Euclidean distance of a frame to another, whose channels lie `stride` apart
template <class T>
inline T apart(const Frame<T>& frame, const T* other, int stride) {
    T sum = 0;
    for (int64_t c = 0; c < frame.channels; c++) {
        const T difference = frame.values[c * frame.width] - other[c * stride];
        sum = fused(difference, difference, sum);
    }
    return frame.channels == 1 ? magnitude(T(frame.values[0] - other[0])) : root(sum);
}

template <class T>
inline T from_gap(const Frame<T>& frame) { return apart(frame, frame.gap, 1); }

template <class T>
inline T from_before(const Frame<T>& frame) {
    return apart(frame, frame.values - frame.channels * frame.width, frame.width);
}

// What a rule is unless it says otherwise
template <class T, class V>
struct DefaultCell {
    using Value = V;
    static constexpr int traits = 0;
    // the cost of a step in one sequence alone
    static T edge(const Recurrence&, const Frame<T>&) { return T(0); }
    // what depends on how far apart the steps are in time only: |i - j|, and the longer of the two lengths
    static double offset(const Recurrence&, double, double) { return 0; }
};

// what all rules share that compare one frame with one
template <Cost C, bool One, int R, class T, class V>
struct Frames : DefaultCell<T, V>, Costs<C, One, R, T, V> {
    inline void enter(const Place<T, V>& p, int64_t j) {
        this->make(p.packed + 1, R + 1, p.y + j * p.rows.channels, p.rows.channels);
    }
};

// A struct that begins with a Cost serves all of them, and can be followed (WithPathLength, WithBandwidth); the others have one of their own.

// D = c + min(left, diagonal, above)
template <Cost C, bool One, int R, class T, class V>
struct Dtw : Frames<C, One, R, T, V> {
    static constexpr int traits = Trait::grows | Trait::strips | (C == Cost::sqeuclidean ? Trait::over_boxes : 0);
    inline V value(const Place<T, V>&, int r, int64_t, V before, V diagonal, V above) const {
        return this->plus(r, least(least(before, diagonal), above));
    }
    inline Way way(const Place<T, V>&, int, int64_t, V before, V diagonal, V above) const {
        return cheapest(diagonal, above, before);
    }
};

// a diagonal step counts twice (but the first cell once, see begin in sweep.hpp)
template <Cost C, bool One, int R, class T, class V>
struct Symmetric2 : Frames<C, One, R, T, V> {
    static constexpr int traits = Trait::grows | Trait::twice | (C == Cost::sqeuclidean ? Trait::over_boxes : 0);
    inline V value(const Place<T, V>&, int r, int64_t, V before, V diagonal, V above) const {
        return this->plus(r, least(least(before, above), this->plus(r, diagonal)));
    }
    inline Way way(const Place<T, V>&, int r, int64_t, V before, V diagonal, V above) const {
        return cheapest(this->plus(r, diagonal), above, before);
    }
};

// a step off the diagonal costs `first` more
template <bool One, int R, class T, class V>
struct Amerced : Frames<Cost::sqeuclidean, One, R, T, V> {
    static constexpr int traits = Trait::grows | Trait::over_boxes;
    T penalty;
    explicit Amerced(const Recurrence& how) : penalty(T(how.first)) {}
    // the same penalty on both ways: added once, after the choice
    inline V value(const Place<T, V>&, int r, int64_t, V before, V diagonal, V above) const {
        return this->plus(r, least(diagonal, V(least(before, above) + penalty)));
    }
    inline Way way(const Place<T, V>&, int, int64_t, V before, V diagonal, V above) const {
        return cheapest(diagonal, V(above + penalty), V(before + penalty));
    }
};

// the cost is weighted by |i - j|
template <bool One, int R, class T, class V>
struct Weighted : Frames<Cost::sqeuclidean, One, R, T, V> {
    static constexpr int traits = Trait::grows | Trait::offsets | Trait::by_length;
    static double offset(const Recurrence& how, double lag, double longer) {
        return 1 / (1 + __builtin_exp(-how.first * (lag - longer / 2)));
    }
    inline V value(const Place<T, V>& p, int r, int64_t j, V before, V diagonal, V above) const {
        const V weight = V{} + p.rows.by_offset[p.i + r - j];
        return fused(this->cost(r), weight, least(least(before, diagonal), above));
    }
    inline Way way(const Place<T, V>&, int, int64_t, V before, V diagonal, V above) const {
        return cheapest(diagonal, above, before);
    }
};

// what the edit distances share: three sums, one per way, which the rule itself (`Self`) makes
template <class Self, class V>
struct Edits {
    template <class P>
    inline V value(const P& p, int r, int64_t j, V before, V diagonal, V above) const {
        static_cast<const Self*>(this)->sums(p, r, j, before, diagonal, above);
        return least(least(before, above), diagonal);
    }
    template <class P>
    inline Way way(const P& p, int r, int64_t j, V before, V diagonal, V above) const {
        static_cast<const Self*>(this)->sums(p, r, j, before, diagonal, above);
        return cheapest(diagonal, above, before);
    }
};

// a gap costs the distance to a constant
template <bool One, int R, class T, class V>
struct Erp : Frames<Cost::euclidean, One, R, T, V>, Edits<Erp<One, R, T, V>, V> {
    static constexpr int traits = Trait::grows | Trait::edges | Trait::border;
    static T edge(const Recurrence&, const Frame<T>& frame) { return from_gap(frame); }
    inline void sums(const Place<T, V>& p, int r, int64_t j, V& before, V& diagonal, V& above) const {
        diagonal += this->kept[r];
        above += p.rows.edge[p.i + r];
        before += p.edge_y[j];
    }
};

// the largest difference of R frames of x and one frame of y in any channel
template <bool One, int R, class T, class V>
struct ChebyshevCosts : DefaultCell<T, V> {
    V kept[R];
    inline void enter(const Place<T, V>& p, int64_t j) {
        const V* y = p.y + j * p.rows.channels;
        for (int r = 0; r < R; r++) kept[r] = V{};
        for (int64_t c = 0; c < (One ? 1 : p.rows.channels); c++)
            for (int r = 0; r < R; r++) kept[r] = most(kept[r], magnitude(V(y[c] - p.packed[c * (R + 1) + r + 1])));
    }
};

// a gap or a mismatch costs 1; what `Near` keeps of two frames is within the threshold where they match
template <class Near, class T, class V>
struct EditOnReals : Near, Edits<EditOnReals<Near, T, V>, V> {
    static constexpr int traits = Trait::grows | Trait::border | Trait::threshold;
    static T edge(const Recurrence&, const Frame<T>&) { return T(1); }
    inline void sums(const Place<T, V>& p, int r, int64_t, V& before, V& diagonal, V& above) const {
        diagonal += this->kept[r] <= p.threshold ? V{} : V{} + T(1);
        above += T(1);
        before += T(1);
    }
};
template <bool One, int R, class T, class V> struct Edr : EditOnReals<Frames<Cost::euclidean, One, R, T, V>, T, V> {};
template <bool One, int R, class T, class V> struct EdrByChannel : EditOnReals<ChebyshevCosts<One, R, T, V>, T, V> {};

// minus the length of the longest common subsequence: it falls
template <class Near, class T, class V>
struct CommonSubsequence : Near, Edits<CommonSubsequence<Near, T, V>, V> {
    static constexpr int traits = Trait::border | Trait::threshold;
    inline void sums(const Place<T, V>& p, int r, int64_t, V&, V& diagonal, V&) const {
        diagonal -= this->kept[r] <= p.threshold ? V{} + T(1) : V{};
    }
};
template <bool One, int R, class T, class V> struct Lcss : CommonSubsequence<Frames<Cost::euclidean, One, R, T, V>, T, V> {};
template <bool One, int R, class T, class V> struct LcssByChannel : CommonSubsequence<ChebyshevCosts<One, R, T, V>, T, V> {};

// How far a value lies outside the interval between two others, given the steps from it to both: one as `step`, the
// other as its negative part `low` and positive part `high`. Outside means that both lie on the same side.
template <class V>
inline V outside(V step, V low, V high) {
    return magnitude(V(least(most(step, low), high)));
}

// move costs the distance; split and merge cost `first`, and more where the new value is not between its neighbours
template <bool One, int R, class T, class V>
struct Msm : Frames<One ? Cost::sqeuclidean : Cost::euclidean, One, R, T, V>,  // one channel: the difference with its sign
             Edits<Msm<One, R, T, V>, V> {
    static constexpr int traits = Trait::grows | Trait::looks_back;
    T penalty;
    V between_x[One ? 1 : R], between_y[One ? 1 : R], y_low, y_high;
    explicit Msm(const Recurrence& how) : penalty(T(how.first)) {}

    inline void enter(const Place<T, V>& p, int64_t j) {
        this->make(p.packed + 1, R + 1, p.y + j * p.rows.channels, p.rows.channels);
        if constexpr (One) {
            const V y_after = p.y[j] - p.y[j - 1];
            y_low = least(y_after, V{}), y_high = most(y_after, V{});
        } else
            for (int r = 0; r < R; r++) {
                const T* x = p.x() + r * p.rows.channels;
                const V* y = p.y + j * p.rows.channels;
                between_x[r] = beyond(x, x - p.rows.channels, y, this->kept[r], p.rows.channels);
                between_y[r] = beyond(y, y - p.rows.channels, x, this->kept[r], p.rows.channels);
            }
    }
    // several channels: `a` is inside the sphere whose diameter is the segment from `b` to `c`, or else as far as the
    // nearer of the two; `to_c` is the distance of a and c. Inside is where b and c are seen at a right angle or more
    // (Thales), which unlike radii is exact along an axis; unfused, so that equal products cancel
    template <class A, class B, class D>
    static inline V beyond(const A* a, const B* b, const D* c, V to_c, int64_t channels) {
        V angle = V{}, to_b = V{};
        for (int64_t k = 0; k < channels; k++) {
            const V side = V{} + a[k] - b[k], other = V{} + a[k] - c[k];
            angle += side * other;
            to_b = fused(side, side, to_b);
        }
        return angle <= V{} ? V{} : least(V(root(to_b)), to_c);
    }
    inline void sums(const Place<T, V>& p, int r, int64_t j, V& before, V& diagonal, V& above) const {
        (void)j;
        if constexpr (One) {
            const V to_y = this->kept[r];
            diagonal += magnitude(to_y);
            above += outside(to_y, V(V{} + p.steps_low[r]), V(V{} + p.steps_high[r]));
            before += outside(to_y, y_low, y_high);
        } else {
            diagonal += this->kept[r];
            above += between_x[r];
            before += between_y[r];
        }
        above += penalty;
        before += penalty;
    }
};

// Both ends of the matched steps count, and by_offset holds the price of being apart in time. VecPair deletions cost the same in
// either order but for rounding, so which of the two paths is shown depends on whether frames' squares are fused (simd.hpp).
template <bool One, int R, class T, class V>
struct Twe : DefaultCell<T, V>, Edits<Twe<One, R, T, V>, V> {
    static constexpr int traits = Trait::grows | Trait::looks_back | Trait::edges | Trait::offsets;
    static T edge(const Recurrence& how, const Frame<T>& frame) {
        return from_before(frame) + T(how.first) + T(how.second);
    }
    static double offset(const Recurrence& how, double lag, double) { return 2 * how.first * lag; }
    Costs<Cost::euclidean, One, R + 1, T, V> here;  // row -1 first: the diagonal looks one row up and one column back
    V earlier[R];

    inline void enter(const Place<T, V>& p, int64_t j) {
        const V* y = p.y + j * p.rows.channels;
        // going from column to column, what was here is what is earlier now
        if (started != j - 1) here.make(p.packed, R + 1, y - p.rows.channels, p.rows.channels);
        for (int r = 0; r < R; r++) earlier[r] = here.kept[r];
        here.make(p.packed, R + 1, y, p.rows.channels);
        started = j;
    }
    inline void sums(const Place<T, V>& p, int r, int64_t j, V& before, V& diagonal, V& above) const {
        diagonal += here.kept[r + 1] + earlier[r] + p.rows.by_offset[p.i + r - j];
        above += p.rows.edge[p.i + r];
        before += p.edge_y[j];
    }

  private:
    int64_t started = -9;  // the column whose costs are at hand
};

// The same on clocks: the last two channels are a step's time, in two parts whose sum it is, because one float cannot tell
// apart the seconds of a day that is counted from 1970. Only differences of times are ever used, and the frame of zeros
// before the first is Marteau's added step at time 0.
template <bool One, int R, class T, class V>
struct TimedTwe : DefaultCell<T, V>, Edits<TimedTwe<One, R, T, V>, V> {
    static constexpr int traits = Trait::grows | Trait::looks_back | Trait::edges;
    static T edge(const Recurrence& how, const Frame<T>& frame) {
        Frame<T> seen = frame;
        seen.channels -= 2;
        const T* before = frame.values - frame.channels * frame.width;
        const int64_t time = seen.channels * frame.width;
        const T passed = (frame.values[time] - before[time]) + (frame.values[time + frame.width] - before[time + frame.width]);
        return apart(seen, before, frame.width) + T(how.first) * magnitude(passed) + T(how.second);
    }
    T stiffness;
    Costs<Cost::euclidean, false, R + 1, T, V> here;  // frames and, times the stiffness, clocks; row -1 first
    V earlier[R];
    explicit TimedTwe(const Recurrence& how) : stiffness(T(how.first)) {}

    inline void enter(const Place<T, V>& p, int64_t j) {
        const V* y = p.y + j * p.rows.channels;
        if (started != j - 1) make(p, y - p.rows.channels);
        for (int r = 0; r < R; r++) earlier[r] = here.kept[r];
        make(p, y);
        started = j;
    }
    inline void sums(const Place<T, V>& p, int r, int64_t j, V& before, V& diagonal, V& above) const {
        diagonal += here.kept[r + 1] + earlier[r];
        above += p.rows.edge[p.i + r];
        before += p.edge_y[j];
    }

  private:
    inline void make(const Place<T, V>& p, const V* y) {
        const int64_t seen = p.rows.channels - 2;
        const T *coarse = p.packed + seen * (R + 1), *fine = coarse + (R + 1);
        if (seen == 1)  // no square, which may overflow
            for (int r = 0; r <= R; r++) here.kept[r] = magnitude(V(y[0] - p.packed[r]));
        else here.make(p.packed, R + 1, y, seen);
        for (int r = 0; r <= R; r++)
            here.kept[r] += stiffness * magnitude(V((y[seen] - coarse[r]) + (y[seen + 1] - fine[r])));
    }
    int64_t started = -9;  // the column whose costs are at hand
};

// A value together with the number of steps on its path; of two paths that cost the same the shorter wins.
template <class V>
struct ValueAndSteps {
    V total, steps;
};

template <class V>
inline ValueAndSteps<V> least(ValueAndSteps<V> a, ValueAndSteps<V> b) {
    // & and | are lane-wise for registers, and for scalars they are as good as && and ||
    auto second = (b.total < a.total) | ((b.total == a.total) & (b.steps < a.steps));
    return {second ? b.total : a.total, second ? b.steps : a.steps};
}

template <class Cell, class T, class V>
struct WithPathLength : Cell {
    using Value = ValueAndSteps<V>;
    // a path's mean need not grow as the path does
    static constexpr int traits = Cell::traits & ~(Trait::grows | Trait::over_boxes | Trait::strips);
    static constexpr bool twice = traits & Trait::twice;
    template <class P>
    inline Value value(const P&, int r, int64_t, Value before, Value diagonal, Value above) const {
        if (twice) diagonal.total = this->plus(r, diagonal.total);
        Value best = least(least(diagonal, above), before);
        return {this->plus(r, best.total), best.steps + T(1)};
    }
    template <class P>
    inline Way way(const P&, int r, int64_t, Value before, Value diagonal, Value above) const {
        if (twice) diagonal.total = this->plus(r, diagonal.total);
        Value best = least(least(diagonal, above), before);
        auto is = [&](Value v) { return v.total == best.total && v.steps == best.steps; };
        return is(diagonal) ? diagonally : is(above) ? upwards : leftwards;
    }
};

// How far from the diagonal the path strays, beyond what its band is widened by: of the best path, or of one of them. Bands
// that are as wide or wider all have it for their best, with the same total to the last bit.
template <class Cell, class T, class V>
struct WithBandwidth : Cell {
    using Value = ValueAndSteps<V>;
    static constexpr int traits = Cell::traits & ~(Trait::over_boxes | Trait::strips);
    V ahead, behind;  // how far the first row is from the widened diagonal; a row further it is one less, and one more

    inline void enter(const Place<T, V>& p, int64_t j) {
        Cell::enter(p, j);
        const T from = T(j - p.i);
        ahead = from - p.above, behind = -from - p.below;
    }
    inline Value value(const Place<T, V>&, int r, int64_t, Value before, Value diagonal, Value above) const {
        if (traits & Trait::twice) diagonal.total = this->plus(r, diagonal.total);
        const Value best = either(either(diagonal, above), before);
        return {this->plus(r, best.total), most(most(best.steps, V(ahead - T(r))), V(behind + T(r)))};
    }

  private:
    static inline Value either(Value a, Value b) {
        const auto second = b.total < a.total;
        return {least(a.total, b.total), second ? b.steps : a.steps};
    }
};

// As bits, in which everything with a sign is above everything without: the lower of two, and whether they are the same.
// `with_sign` is a number that is not negative with the sign of another.
template <class T> struct unsigned_of;
template <> struct unsigned_of<float> { typedef unsigned type; };
template <> struct unsigned_of<double> { typedef unsigned long long type; };
template <class T> inline typename unsigned_of<T>::type bits(T a) {
    typename unsigned_of<T>::type held;
    __builtin_memcpy(&held, &a, sizeof held);
    return held;
}
inline float lower_bits(float a, float b) { return bits(a) < bits(b) ? a : b; }
inline double lower_bits(double a, double b) { return bits(a) < bits(b) ? a : b; }
inline bool same_bits(float a, float b) { return bits(a) == bits(b); }
inline bool same_bits(double a, double b) { return bits(a) == bits(b); }
inline float with_sign(float a, float of) { return __builtin_copysignf(a, of); }
inline double with_sign(double a, double of) { return __builtin_copysign(a, of); }
template <class V> inline V lower_bits(V a, V b) {
    typedef vec<typename unsigned_of<__typeof__(a[0] + 0)>::type> Bits;
    return (Bits)a < (Bits)b ? a : b;
}
template <class V> inline auto same_bits(V a, V b) {
    typedef decltype(a < a) Bits;
    return (Bits)a == (Bits)b;
}
template <class V> inline V with_sign(V a, V of) {
    typedef decltype(a < a) Bits;
    return (V)((Bits)a | ((Bits)of & (Bits)(-(V{}))));
}

// The rules that stand missing values (NaN): a cell compares the channels that both frames have and scales up to all of them.
// One without any costs nothing and is entered and left diagonally, or else whole stretches could be passed by along it for
// nothing. Its total has a sign, so that as bits it is above everything and never the cheapest to come from aside. How many of
// these a path has is counted; of two paths that cost the same the one with fewer wins. A rule (`Self`) says what corner and
// sides cost, and adds the cost of the cell.
template <class Self, Cost C, bool One, int R, class T, class V>
struct Gaps : DefaultCell<T, V>, Costs<C, One, R, T, V> {
    using Value = ValueAndSteps<V>;
    typedef decltype(V{} < V{}) Mask;
    static constexpr int traits = Trait::missing;
    Mask known[R];

    inline void enter(const Place<T, V>& p, int64_t j) {
        const T* x = p.packed + 1;
        const V* y = p.y + j * p.rows.channels;
        if constexpr (One) {
            for (int r = 0; r < R; r++) {
                const V difference = y[0] - x[r];
                known[r] = difference == difference;
                this->kept[r] = known[r] ? (this->squares_later ? difference : magnitude(difference)) : V{};
            }
            return;
        }
        V shared[R];
        for (int r = 0; r < R; r++) this->kept[r] = shared[r] = V{};
        for (int64_t c = 0; c < p.rows.channels; c++)
            for (int r = 0; r < R; r++) {
                const V difference = y[c] - x[c * (R + 1) + r];
                const Mask both = difference == difference;
                const V more = C == Cost::manhattan ? V(this->kept[r] + magnitude(difference))
                                                    : fused(difference, difference, this->kept[r]);
                this->kept[r] = both ? more : this->kept[r];
                shared[r] = both ? V(shared[r] + T(1)) : shared[r];
            }
        for (int r = 0; r < R; r++) {
            known[r] = shared[r] > V{};
            this->kept[r] *= p.scaling(shared[r]);  // by exactly 1 where both have all
            if constexpr (C == Cost::euclidean) this->kept[r] = root(this->kept[r]);
        }
    }
    inline Value value(const Place<T, V>& p, int r, int64_t j, Value before, Value diagonal, Value above) const {
        const Value best = chosen(p, r, j, before, diagonal, above);
        const V total = self().total(p, r, j, best.total);
        return {known[r] ? total : -total, known[r] ? best.steps : V(diagonal.steps + T(1))};
    }
    inline Way way(const Place<T, V>& p, int r, int64_t j, Value before, Value diagonal, Value above) const {
        const Value best = chosen(p, r, j, before, diagonal, above);
        auto is = [&](Value v) { return same_bits(v.total, best.total) && v.steps == best.steps; };
        return !known[r] || is(diagonal) ? diagonally : is(above) ? upwards : leftwards;
    }
    inline V corner(const Place<T, V>&, int, int64_t, V value) const { return value; }
    inline V side(V value) const { return value; }
    inline V total(const Place<T, V>&, int r, int64_t, V best) const { return this->plus(r, best); }

  private:
    inline const Self& self() const { return *static_cast<const Self*>(this); }
    // the cheapest of the three, which become what they cost; where nothing is known it is the corner, and its steps are not
    inline Value chosen(const Place<T, V>& p, int r, int64_t j, Value& before, Value& diagonal, Value& above) const {
        diagonal.total = self().corner(p, r, j, magnitude(diagonal.total));
        above.total = self().side(above.total), before.total = self().side(before.total);
        V best = lower_bits(lower_bits(above.total, before.total), diagonal.total);
        best = known[r] ? best : diagonal.total;
        const V many = V{} + infinity<T>;
        V fewest = same_bits(diagonal.total, best) ? diagonal.steps : many;
        fewest = least(fewest, same_bits(above.total, best) ? above.steps : many);
        return {best, least(fewest, same_bits(before.total, best) ? before.steps : many)};
    }
};

template <Cost C, bool One, int R, class T, class V>
struct DtwMissing : Gaps<DtwMissing<C, One, R, T, V>, C, One, R, T, V> {};

// the first cell counts once although it is entered diagonally, and is rounded as begin in sweep.hpp has it
template <Cost C, bool One, int R, class T, class V>
struct Symmetric2Missing : Gaps<Symmetric2Missing<C, One, R, T, V>, C, One, R, T, V> {
    inline V corner(const Place<T, V>& p, int r, int64_t j, V value) const {
        return p.i + r + j == 0 ? value : this->plus(r, value);
    }
    inline V total(const Place<T, V>& p, int r, int64_t j, V best) const {
        return this->plus(r, p.i + r + j == 0 ? this->plus(r, V(-this->cost(r))) : best);
    }
};

template <bool One, int R, class T, class V>
struct AmercedMissing : Gaps<AmercedMissing<One, R, T, V>, Cost::sqeuclidean, One, R, T, V> {
    T penalty;
    explicit AmercedMissing(const Recurrence& how) : penalty(T(how.first)) {}
    // away from 0, so that a sign stays
    inline V side(V value) const { return value + with_sign(V(V{} + penalty), value); }
};

template <bool One, int R, class T, class V>
struct WeightedMissing : Gaps<WeightedMissing<One, R, T, V>, Cost::sqeuclidean, One, R, T, V> {
    static constexpr int traits = Trait::missing | Trait::offsets | Trait::by_length;
    static double offset(const Recurrence& how, double lag, double longer) {
        return Weighted<One, R, T, V>::offset(how, lag, longer);
    }
    inline V total(const Place<T, V>& p, int r, int64_t j, V best) const {
        return fused(this->cost(r), V(V{} + p.rows.by_offset[p.i + r - j]), best);
    }
};

template <class Cell>
inline Cell made(const Recurrence& how) {
    if constexpr (__is_constructible(Cell, const Recurrence&)) return Cell(how);
    else return Cell{};
}

}  // namespace

// Every rule: the name that Python asks for, and its struct. Enum, names and dispatch follow from this list.
#define TIMELIKE_RULES(rule)             \
    rule(dtw, Dtw)                       \
    rule(symmetric2, Symmetric2)         \
    rule(amerced, Amerced)               \
    rule(weighted, Weighted)             \
    rule(erp, Erp)                       \
    rule(edr, Edr)                       \
    rule(edr_by_channel, EdrByChannel)   \
    rule(lcss, Lcss)                     \
    rule(lcss_by_channel, LcssByChannel) \
    rule(msm, Msm)                       \
    rule(twe, Twe)                       \
    rule(twe_timed, TimedTwe)            \
    rule(dtw_missing, DtwMissing)        \
    rule(symmetric2_missing, Symmetric2Missing) \
    rule(amerced_missing, AmercedMissing) \
    rule(weighted_missing, WeightedMissing)

#define TIMELIKE_ENUMERATOR(name, Cell) name,
enum class Rule : int { TIMELIKE_RULES(TIMELIKE_ENUMERATOR) };
#undef TIMELIKE_ENUMERATOR

}  // namespace timelike
