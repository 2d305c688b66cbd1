// One sequence against a register full of others: what a kernel needs, kept between calls by one worker.
#pragma once
#include "elastic/pairs.hpp"
#include "machine/memory.hpp"
#include "machine/order.hpp"

namespace timelike {

template <class T>
class Tile {
  public:
    Tile(const Kernels<T>& kernel, const Program<T>& program, int64_t max_n, int64_t max_m, int64_t channels, int width)
        : kernel_(kernel), program_(program), channels_(channels), width_(width), traits_(kernel.traits(program.how)) {
        columns_ = buffer<T>((max_m + 1) * channels * width);
        // two numbers a cell where steps are counted; behind them the packed rows of a pass, at most nine per channel
        row_ = buffer<T>(2 * (max_m + 1) * width + 16 * channels);
        rows_ = buffer<T>((max_n + 1) * channels);
        lo_ = buffer<int32_t>(max_n), hi_ = buffer<int32_t>(max_n);
        if (has(Trait::edges)) x_edge_ = buffer<T>(max_n), y_edge_ = buffer<T>(max_m * width);
        if (has(Trait::border)) x_border_ = buffer<T>(max_n), y_border_ = buffer<T>(max_m * width);
        if (has(Trait::offsets)) offsets_ = buffer<T>(max_n + max_m);
    }

    void set_columns(const Collection<T>& y, const int64_t* items, int used) {
        int64_t longest = 0;
        for (int l = 0; l < used; l++) {
            lengths_[l] = y.lengths[items[l]];
            longest = std::max(longest, lengths_[l]);
        }
        if (has(Trait::threshold))
            for (int l = 0; l < width_; l++) thresholds_[l] = l < used ? program_.y_thresholds[items[l]] : T(0);
        if (width_ == 1) copy(y.values + y.starts[items[0]] * channels_, longest, columns_.get());
        else kernel_.interleave(y, items, used, longest, columns_.get());
        const T* first = columns_.get() + channels_ * width_;
        if (y_edge_ || y_border_)
            kernel_.edges(program_.how, {first, channels_, width_, program_.gap}, longest, y_edge_.get(), y_border_.get());
        lanes_ = {first, lengths_, longest, used, y_edge_.get(), y_border_.get(),
                  has(Trait::threshold) ? thresholds_ : nullptr};
    }

    void set_rows(const Collection<T>& x, int64_t item) {
        const int64_t n = x.lengths[item], m = lanes_.length;
        const T* first = x.values + x.starts[item] * channels_;
        if (has(Trait::looks_back)) {  // the step before the first is zeros
            copy(first, n, rows_.get());
            first = rows_.get() + channels_;
        }
        if (x_edge_ || x_border_)
            kernel_.edges(program_.how, {first, channels_, 1, program_.gap}, n, x_edge_.get(), x_border_.get());
        if (n != filled_n_ || m != filled_m_) {  // sequences come by length, so neighbours share these
            filled_n_ = n, filled_m_ = m;
            program_.window.fill(n, m, lo_.get(), hi_.get());
            if (offsets_) kernel_.offsets(program_.how, n, m, offsets_.get());
        }
        x_ = {first, n, channels_, x_edge_.get(), x_border_.get(), offsets_ ? offsets_.get() + m : nullptr,
              has(Trait::threshold) ? program_.x_thresholds[item] : T(0)};
    }

    void run(T* distances, const T* limits, const volatile bool* stop) {
        T counts[64];
        kernel_.sweep(program_.how, x_, lanes_, band(), row_.get(), distances, counts, limits, stop);
        if (program_.how.counted)
            for (int l = 0; l < lanes_.used; l++) distances[l] /= counts[l];
    }

    void rows(int64_t first, int64_t last, T* row, uint8_t* marks, int64_t stride, T* matrix, const volatile bool* stop) {
        kernel_.rows(program_.how, x_, lanes_, band(), first, last, row, marks, stride, matrix, stop);
    }

    Band band() const { return {lo_.get(), hi_.get()}; }
    const Rows<T>& x() const { return x_; }
    const Lanes<T>& lanes() const { return lanes_; }
    T* row() { return row_.get(); }

  private:
    void copy(const T* from, int64_t steps, T* into) const {
        std::fill(into, into + channels_, T(0));
        std::copy(from, from + steps * channels_, into + channels_);
    }

    bool has(int trait) const { return traits_ & trait; }

    const Kernels<T>& kernel_;
    const Program<T>& program_;
    int64_t channels_;
    int width_, traits_;
    int64_t filled_n_ = -1, filled_m_ = -1;  // the lengths band and offsets were made for
    Buffer<T> columns_, row_, rows_, x_edge_, y_edge_, x_border_, y_border_, offsets_;
    Buffer<int32_t> lo_, hi_;
    int64_t lengths_[64];  // by lane, of which no register has more
    T thresholds_[64];
    Rows<T> x_;
    Lanes<T> lanes_;
};

}  // namespace timelike
