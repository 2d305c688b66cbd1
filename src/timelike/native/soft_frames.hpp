// The frames of a sheet's pairs as the kernels want them, a source of costs and a sink for the gradients.
#pragma once
#include "soft_passes.hpp"
#include "table.hpp"

namespace timelike {

template <class T>
class Frames {
  public:
    // `rows` and `columns` (pair) say which sequences a pair compares; null: pair p compares the p-th with the p-th
    Frames(const SoftKernels<T>& kernel, const Sheet& sheet, const Collection<T>& x, const Collection<T>& y,
           const int64_t* rows, const int64_t* columns)
        : kernel_(kernel), sheet_(sheet), channels_(x.channels), x_stride_(sheet.n * sheet.count()),
          y_stride_(sheet.m * sheet.count()), x_(channels_ * x_stride_ + kernel.lanes), y_(channels_ * y_stride_ + kernel.lanes) {
        for (int64_t l = 0; l < sheet.count(); l++) {
            const Lane& lane = sheet.lanes[l];
            const T* first = x.values + x.starts[rows ? rows[lane.pair] : lane.pair] * channels_;
            const T* second = y.values + y.starts[columns ? columns[lane.pair] : lane.pair] * channels_;
            each(lane.n, [&](int64_t i, int64_t c) { x_[x_place(i, c, l)] = first[i * channels_ + c]; });
            each(lane.m, [&](int64_t j, int64_t c) { y_[y_place(j, c, l)] = second[j * channels_ + c]; });
        }
    }

    void load(const Slab<T>& slab, int64_t begin, int64_t end, T outside) const {
        for (int64_t d = begin; d < end; d++) {
            kernel_.costs(facing(d), sheet_.cells(d), slab.cells(d));
            mask(slab, d, outside);
        }
    }

    void take(const Slab<T>& shares, int64_t begin, int64_t end) {
        if (x_gradient_.empty()) x_gradient_.resize(x_.size()), y_gradient_.resize(y_.size());
        for (int64_t d = end - 1; d >= begin; d--)
            kernel_.push(facing(d), shares.cells(d), sheet_.cells(d), x_gradient_.data() + x_offset(d), y_gradient_.data() + y_offset(d));
    }

    void give(const Collection<T>& x, const Collection<T>& y, T* x_gradient, T* y_gradient) const {
        for (int64_t l = 0; l < sheet_.count(); l++) {
            const Lane& lane = sheet_.lanes[l];
            T *first = x_gradient + x.starts[lane.pair] * channels_, *second = y_gradient + y.starts[lane.pair] * channels_;
            each(lane.n, [&](int64_t i, int64_t c) { first[i * channels_ + c] = 2 * x_gradient_[x_place(i, c, l)]; });
            each(lane.m, [&](int64_t j, int64_t c) { second[j * channels_ + c] = 2 * y_gradient_[y_place(j, c, l)]; });
        }
    }

  private:
    template <class Work>
    void each(int64_t length, const Work& work) const {
        for (int64_t i = 0; i < length; i++)
            for (int64_t c = 0; c < channels_; c++) work(i, c);
    }

    int64_t x_place(int64_t i, int64_t c, int64_t lane) const { return c * x_stride_ + i * sheet_.count() + lane; }
    int64_t y_place(int64_t j, int64_t c, int64_t lane) const {
        return c * y_stride_ + (sheet_.m - 1 - j) * sheet_.count() + lane;
    }
    int64_t x_offset(int64_t d) const { return sheet_.lo(d) * sheet_.count(); }
    int64_t y_offset(int64_t d) const { return (sheet_.m - 1 - d + sheet_.lo(d)) * sheet_.count(); }
    Facing<T> facing(int64_t d) const {
        return {x_.data() + x_offset(d), y_.data() + y_offset(d), channels_, x_stride_, y_stride_};
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
