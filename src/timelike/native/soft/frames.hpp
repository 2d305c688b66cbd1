// The frames of a sheet's pairs as the kernels want them, a source of costs and a sink for the gradients.
#pragma once
#include "machine/packed_sequences.hpp"
#include "soft/passes.hpp"

namespace timelike {

template <class T>
class Frames {
  public:
    // `rows` and `columns` (pair) say which sequences a pair compares; null: pair p compares the p-th with the p-th
    Frames(const SoftKernels<T>& kernel, const Sheet& sheet, const PackedSequences<T>& x, const PackedSequences<T>& y,
           const int64_t* rows, const int64_t* columns)
        : kernel_(kernel), sheet_(sheet), channels_(x.channels), x_stride_(sheet.n * sheet.count()),
          y_stride_(sheet.m * sheet.count()), x_(channels_ * x_stride_ + 2 * kernel.lanes), y_(channels_ * y_stride_ + 2 * kernel.lanes) {
        std::vector<const T*> first, second;
        for (const Lane& lane : sheet.lanes) {
            first.push_back(x.values + x.starts[rows ? rows[lane.pair] : lane.pair] * channels_);
            second.push_back(y.values + y.starts[columns ? columns[lane.pair] : lane.pair] * channels_);
        }
        // lane after lane, as they are written
        const int64_t count = sheet.count();
        each(sheet.n, [&](int64_t i, int64_t c) {
            T* const into = x_.data() + x_place(i, c, 0);
            for (int64_t l = 0; l < count; l++)
                if (i < sheet.lanes[size_t(l)].n) into[l] = first[size_t(l)][i * channels_ + c];
        });
        each(sheet.m, [&](int64_t j, int64_t c) {
            T* const into = y_.data() + y_place(j, c, 0);
            for (int64_t l = 0; l < count; l++)
                if (j < sheet.lanes[size_t(l)].m) into[l] = second[size_t(l)][j * channels_ + c];
        });
    }

    bool x_wanted = true, y_wanted = true;  // whose gradient is taken

    // Both ways, a register of frames is taken with all diagonals of a chunk that reach it, so that what belongs to the frames
    // stays in registers; the last diagonal first, so that no sum is taken in an order that depends on the other lanes.
    void load(const Slab<T>& slab, int64_t begin, int64_t end, T outside) const {
        each_register(slab, begin, end, true, y_, [&](int64_t k, T** cells, const T** facing, int64_t count) {
            kernel_.costs(cells, facing, count, channels_, y_stride_, x_stride_, x_.data() + kernel_.lanes + k);
        });
        for (int64_t d = begin; d < end; d++) mask(slab, d, outside);
    }

    void take(const Slab<T>& shares, int64_t begin, int64_t end) {
        if (x_wanted) gather(shares, begin, end, true, x_, y_, x_gradient_);
        if (y_wanted) gather(shares, begin, end, false, y_, x_, y_gradient_);
    }

    void give(const PackedSequences<T>& x, const PackedSequences<T>& y, T* x_gradient, T* y_gradient) const {
        for (int64_t l = 0; l < sheet_.count(); l++) {
            const Lane& lane = sheet_.lanes[l];
            T *first = x_gradient + x.starts[lane.pair] * channels_, *second = y_gradient + y.starts[lane.pair] * channels_;
            const int64_t x_step = sheet_.count(), y_step = -sheet_.count();  // from one time to the next
            if (x_wanted) hand_out(x_gradient_.data() + x_place(0, 0, l), x_step, x_stride_, lane.n, first);
            if (y_wanted) hand_out(y_gradient_.data() + y_place(0, 0, l), y_step, y_stride_, lane.m, second);
        }
    }

  private:
    // twice what was gathered: the derivative of a square
    void hand_out(const T* from, int64_t step, int64_t stride, int64_t length, T* into) const {
        for (int64_t i = 0; i < length; i++, from += step)
            for (int64_t c = 0; c < channels_; c++) *into++ = 2 * from[c * stride];
    }

    template <class Work>
    void each(int64_t length, const Work& work) const {
        for (int64_t i = 0; i < length; i++)
            for (int64_t c = 0; c < channels_; c++) work(i, c);
    }

    int64_t x_place(int64_t i, int64_t c, int64_t lane) const { return kernel_.lanes + c * x_stride_ + i * sheet_.count() + lane; }
    int64_t y_place(int64_t j, int64_t c, int64_t lane) const {
        return kernel_.lanes + c * y_stride_ + (sheet_.m - 1 - j) * sheet_.count() + lane;
    }
    void gather(const Slab<T>& shares, int64_t begin, int64_t end, bool rows, const std::vector<T>& own,
                const std::vector<T>& other, std::vector<T>& gradient) const {
        if (gradient.empty()) gradient.resize(own.size());
        const int64_t own_stride = rows ? x_stride_ : y_stride_, other_stride = rows ? y_stride_ : x_stride_, W = kernel_.lanes;
        each_register(shares, begin, end, rows, other, [&](int64_t k, T** cells, const T** facing, int64_t count) {
            kernel_.gather(cells, facing, count, channels_, other_stride, own_stride, own.data() + W + k, gradient.data() + W + k);
        });
    }

    // use(k, cells, facing, count) for every register of x's frames (`rows`), counted from the first, or of y's, counted from
    // the last: where its cells are on each diagonal, and the other side's frames
    template <class Use>
    void each_register(const Slab<T>& slab, int64_t begin, int64_t end, bool rows, const std::vector<T>& other,
                       const Use& use) const {
        struct Diagonal {
            int64_t first, last;  // its cells, counted as k is
            T* cells;             // at k, and the frames that face them
            const T* facing;
        } diagonals[chunk];
        const int64_t L = sheet_.count(), W = kernel_.lanes, many = end - begin;
        int64_t first = std::numeric_limits<int64_t>::max(), last = 0;
        for (int64_t q = 0; q < many; q++) {
            const int64_t d = end - 1 - q, shift = (sheet_.m - 1 - d) * L;  // between the two ways of counting
            const int64_t from = sheet_.lo(d) * L + (rows ? 0 : shift), back = rows ? 0 : shift;
            diagonals[q] = {from, from + sheet_.cells(d), slab.at(d) - back, other.data() + W + (rows ? shift : -back)};
            first = std::min(first, from), last = std::max(last, diagonals[q].last);
        }
        T* cells[chunk];
        const T* facing[chunk];
        for (int64_t k = first / W * W; k < last; k += W) {
            int64_t count = 0;
            for (int64_t q = 0; q < many; q++) {
                const Diagonal& here = diagonals[q];
                cells[count] = here.cells + k, facing[count] = here.facing + k;
                count += (k + W > here.first) & (k < here.last);
            }
            use(k, cells, facing, count);
        }
    }

    void mask(const Slab<T>& slab, int64_t d, T outside) const {
        const int64_t L = sheet_.count(), lo = sheet_.lo(d), hi = sheet_.hi(d);
        for (int64_t l = 0; l < L; l++) {
            const Extent& extent = sheet_.extent(l);
            T* cells = slab.at(d) + l;
            for (int64_t i = lo; i < std::min<int64_t>(extent.lo[d], hi + 1); i++) cells[i * L] = outside;
            for (int64_t i = std::max<int64_t>(extent.hi[d] + 1, lo); i <= hi; i++) cells[i * L] = outside;
        }
    }

    const SoftKernels<T>& kernel_;
    const Sheet& sheet_;
    int64_t channels_, x_stride_, y_stride_;
    std::vector<T> x_, y_, x_gradient_, y_gradient_;
};

}  // namespace timelike
