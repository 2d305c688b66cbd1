// The passes of soft-DTW over one sheet of pairs: totals forwards, expected visits backwards, and the derivatives of both.
// Costs come from a source (a matrix, or the frames themselves) and visits go to a sink, a few diagonals at a time.
#pragma once
#include <cmath>

#include "machine/memory.hpp"
#include "soft/sheet.hpp"

namespace timelike {

constexpr int64_t chunk = 16;  // diagonals loaded and stored together: as many floats as a cache line has

// Matrices (pair, n, m) in memory, read into diagonals or written from them.
template <class T>
struct Matrices {
    T* values;
    int64_t n, m;

    template <class Move>
    void each(const Sheet& sheet, int64_t begin, int64_t end, const Move& move) const {
        for (int64_t l = 0; l < sheet.count(); l++) {
            const Extent& extent = sheet.extent(l);
            const Lane& lane = sheet.lanes[l];
            const int64_t stop = std::min(end, lane.end() + 1);
            if (begin >= stop) continue;
            for (int64_t i = extent.lo[begin]; i <= extent.hi[stop - 1]; i++) {
                T* row = values + (lane.pair * n + i) * m;
                const int64_t right = std::min<int64_t>(extent.last[i], stop - 1 - i);
                for (int64_t j = std::max<int64_t>(extent.first[i], begin - i); j <= right; j++) move(i, i + j, l, row + j);
            }
        }
    }

    void load(const Slab<std::remove_const_t<T>>& slab, int64_t begin, int64_t end, std::remove_const_t<T> outside) const {
        std::remove_const_t<T>* at[chunk];
        const Sheet& sheet = *slab.sheet;
        for (int64_t d = begin; d < end; d++) at[d - begin] = slab.at(d), std::fill_n(slab.cells(d), sheet.cells(d), outside);
        each(sheet, begin, end, [&](int64_t i, int64_t d, int64_t l, T* cell) { at[d - begin][i * sheet.count() + l] = *cell; });
    }

    void take(const Slab<T>& slab, int64_t begin, int64_t end) const {
        T* at[chunk];
        const Sheet& sheet = *slab.sheet;
        for (int64_t d = begin; d < end; d++) at[d - begin] = slab.at(d);
        each(sheet, begin, end, [&](int64_t i, int64_t d, int64_t l, T* cell) { *cell = at[d - begin][i * sheet.count() + l]; });
    }
};

template <class T>
struct Passes {
    const SoftKernels<T>& kernel;
    Softness<T> soft;
    const Sheet& sheet;
    const volatile bool* stop;

    template <class Source>
    void forward(const Source& source, const Slab<T>& totals, int64_t begin, int64_t end) const {
        for (int64_t c = begin; c < end && !*stop; c += chunk) {
            const int64_t until = std::min(end, c + chunk);
            source.load(totals, c, until, std::numeric_limits<T>::infinity());
            for (int64_t d = c; d < until; d++) {
                kernel.forward(soft, totals.before(d), sheet.cells(d), totals.cells(d));
                totals.pad(d, std::numeric_limits<T>::infinity());
            }
        }
    }

    template <class Source>
    void tangent(const Source& direction, const Slab<T>& totals, const Slab<T>& tangents, int64_t begin, int64_t end) const {
        for (int64_t c = begin; c < end && !*stop; c += chunk) {
            const int64_t until = std::min(end, c + chunk);
            direction.load(tangents, c, until, T(0));
            for (int64_t d = c; d < until; d++) {
                kernel.tangent(soft, totals.before(d), tangents.before(d), sheet.cells(d), tangents.cells(d));
                tangents.pad(d, T(0));
            }
        }
    }

    // `scales` (pair) is what enters at the end of each pair: 1 for the expected visits themselves
    void enter(Flows<T>& flows, int64_t d, const T* scales) const {
        for (int64_t l = 0; l < sheet.count(); l++)
            if (sheet.lanes[l].end() == d) flows.enter(d, sheet.lanes[l].n - 1, l, scales ? scales[sheet.lanes[l].pair] : T(1));
    }

    template <class Sink>
    void backward(const Slab<T>& totals, Flows<T>& flows, const T* scales, T* scratch, Sink& sink, int64_t begin,
                  int64_t end) const {
        each_chunk_backwards(begin, end, [&](int64_t c, int64_t until) {
            const Slab<T> shares{&sheet, scratch, c};
            for (int64_t d = until - 1; d >= c; d--) {
                enter(flows, d, scales);
                kernel.backward(soft, totals.before(d), flows.after(d), sheet.cells(d), shares.cells(d), flows.of(d));
                flows.close(d);
                // a register at the edge of the diagonal must find nothing beyond
                std::fill_n(shares.cells(d) - kernel.lanes, kernel.lanes, T(0));
                std::fill_n(shares.cells(d) + sheet.cells(d), kernel.lanes, T(0));
            }
            sink.take(shares, c, until);
        });
    }

    template <class Sink>
    void turn(const Slab<T>& totals, const Slab<T>& tangents, Flows<T>& flows, Flows<T>& turning, T* scratch, Sink& sink,
              int64_t begin, int64_t end) const {
        each_chunk_backwards(begin, end, [&](int64_t c, int64_t until) {
            const Slab<T> shares{&sheet, scratch, c};
            for (int64_t d = until - 1; d >= c; d--) {
                enter(flows, d, nullptr);
                kernel.turn(soft, totals.before(d), tangents.before(d), flows.after(d), turning.after(d), sheet.cells(d),
                            shares.cells(d), flows.of(d), turning.of(d));
                flows.close(d), turning.close(d);
            }
            sink.take(shares, c, until);
        });
    }

    template <class Work>
    void each_chunk_backwards(int64_t begin, int64_t end, const Work& work) const {
        for (int64_t c = begin + (end - 1 - begin) / chunk * chunk; c >= begin && !*stop; c -= chunk)
            work(c, std::min(end, c + chunk));
    }

    int64_t scratch_size(int64_t block) const {
        int64_t most = 0;
        for (int64_t d = 0; d < sheet.diagonals; d++)
            most = std::max(most, sheet.size(d - 2, std::min(sheet.diagonals, d + block)));
        return most;
    }
};

// Blocks of diagonals: all at once where `budget` numbers hold them, else about the root of their number, of which the
// two diagonals before each are kept and the rest is computed again when it is needed.
template <class T>
class Blocks {
  public:
    // `tables` of the same shape are kept side by side: totals alone, or totals and their derivatives
    Blocks(const Passes<T>& passes, int tables, int64_t budget) : sheet_(passes.sheet), tables_(tables) {
        const int64_t diagonals = sheet_.diagonals;
        size_ = diagonals;
        if (tables * sheet_.size(-2, diagonals) > budget)
            // kept are two diagonals a block, computed again is one block: their sum is least at √(2 · diagonals)
            size_ = (int64_t(std::sqrt(double(2 * diagonals))) + chunk - 1) / chunk * chunk;
        held_ = passes.scratch_size(size_);
        memory_ = buffer<T>(tables * held_);
        count_ = (diagonals + size_ - 1) / size_;
        kept_.resize(count_);
    }

    Slab<T> slab(int table, int64_t block) const { return {&sheet_, memory_.get() + table * held_, block * size_}; }

    // ahead(begin, end) computes a block from the two diagonals before it; back(begin, end) uses it
    template <class Ahead, class Back>
    void run(const Ahead& ahead, const Back& back) {
        for (int64_t b = 0; b < count_; b++) {
            if (b) carry(b);
            ahead(b, b * size_, end(b));
        }
        for (int64_t b = count_ - 1; b >= 0; b--) {
            if (b < count_ - 1) restore(b), ahead(b, b * size_, end(b));
            back(b, b * size_, end(b));
        }
    }

  private:
    int64_t end(int64_t b) const { return std::min(sheet_.diagonals, (b + 1) * size_); }

    void carry(int64_t b) {  // the last two diagonals become the two before the next block
        const int64_t next = b * size_, length = sheet_.size(next - 2, next);
        for (int t = 0; t < tables_; t++) {
            T* memory = memory_.get() + t * held_;
            const T* from = memory + sheet_.size((b - 1) * size_ - 2, next - 2);
            kept_[b].insert(kept_[b].end(), from, from + length);
            std::copy_n(kept_[b].end() - length, length, memory);
        }
    }

    void restore(int64_t b) {
        if (b == 0) return;  // its border is set by `ahead`
        const int64_t length = int64_t(kept_[b].size()) / tables_;
        for (int t = 0; t < tables_; t++) std::copy_n(kept_[b].begin() + t * length, length, memory_.get() + t * held_);
    }

    const Sheet& sheet_;
    int tables_;
    int64_t size_, held_, count_;
    Buffer<T> memory_;
    std::vector<std::vector<T>> kept_;
};

}  // namespace timelike
