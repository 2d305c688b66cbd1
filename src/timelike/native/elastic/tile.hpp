// One sequence against a register full of others: what a kernel needs, kept between calls by one worker.
#pragma once
#include "elastic/pairs.hpp"
#include "machine/memory.hpp"
#include "machine/length_order.hpp"

namespace timelike {

template <class T>
class Tile {
  public:
    Tile(const Kernels<T>& kernel, const Program<T>& program, int64_t max_n, int64_t max_m, int64_t channels, int width)
        : kernel_(kernel), program_(program), window_(program.window), channels_(channels), width_(width),
          traits_(kernel.traits(program.how)) {
        columns_ = buffer<T>((max_m + 1) * channels * width);
        // two numbers a cell where steps are counted; behind them the packed rows of a pass, at most nine per channel
        row_ = buffer<T>(2 * (max_m + 1) * width + 16 * channels);
        rows_ = buffer<T>((max_n + 1) * channels);
        for (Buffer<int32_t>* part : {&lo_, &hi_, &lo_all_, &hi_all_}) *part = buffer<int32_t>(max_n);
        if (window_.by_length() && width > 1) lane_lo_ = buffer<T>(max_n * width), lane_hi_ = buffer<T>(max_n * width);
        if (has(Trait::edges)) x_edge_ = buffer<T>(max_n), y_edge_ = buffer<T>(max_m * width);
        if (has(Trait::border)) x_border_ = buffer<T>(max_n), y_border_ = buffer<T>(max_m * width);
        if (has(Trait::offsets)) offsets_ = buffer<T>(max_n + max_m);
    }

    // another band than the program's, of its kind; before set_columns
    void set_window(const Window& window) { window_ = window; }

    void set_columns(const PackedSequences<T>& y, const int64_t* items, int used) {
        int64_t longest = 0;
        filled_n_ = -1;
        alike_ = true;
        for (int l = 0; l < used; l++) {
            lengths_[l] = y.lengths[items[l]];
            longest = std::max(longest, lengths_[l]);
            alike_ &= lengths_[l] == lengths_[0];
        }
        if (has(Trait::threshold))
            for (int l = 0; l < width_; l++) thresholds_[l] = l < used ? program_.y_thresholds[items[l]] : T(0);
        if (width_ == 1) copy(y.values + y.starts[items[0]] * channels_, longest, columns_.get());
        else kernel_.interleave(y, items, used, longest, columns_.get());
        const T* first = columns_.get() + channels_ * width_;
        if (y_edge_ || y_border_)
            kernel_.edges(program_.how, {first, channels_, width_, program_.gap}, longest, y_edge_.get(), y_border_.get());
        lanes_ = {first, lengths_, longest, used, y_edge_.get(), y_border_.get(),
                  has(Trait::threshold) ? thresholds_ : nullptr, nullptr, nullptr, above_, below_};
    }

    void set_rows(const PackedSequences<T>& x, int64_t item) {
        const int64_t n = x.lengths[item], m = lanes_.length;
        const T* first = x.values + x.starts[item] * channels_;
        if (has(Trait::looks_back)) {  // the step before the first is zeros
            copy(first, n, rows_.get());
            first = rows_.get() + channels_;
        }
        if (x_edge_ || x_border_)
            kernel_.edges(program_.how, {first, channels_, 1, program_.gap}, n, x_edge_.get(), x_border_.get());
        if (n != filled_n_) {  // sequences come by length, so neighbours share these
            filled_n_ = n;
            fill_band(n);
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
        if (has(Trait::missing))
            for (int l = 0; l < lanes_.used; l++) distances[l] = scaled(distances[l], x_.length, lengths_[l], counts[l]);
    }

    // the same, with how wide a band the best path of each lane needs
    void run(T* distances, T* reach, const T* limits, const volatile bool* stop) {
        Recurrence how = program_.how;
        how.reach = true;
        kernel_.sweep(how, x_, lanes_, band(), row_.get(), distances, reach, limits, stop);
    }

    // From the total (with a sign, if its last cell is without data) over the steps of both sequences that were compared to one
    // over all of them. A cell without data leaves out a step of either, because it is passed diagonally.
    static T scaled(T total, int64_t n, int64_t m, T without) {
        const T all = T(n + m);
        return std::abs(total) * (all / (all - 2 * without));
    }

    void rows(int64_t first, int64_t last, T* row, uint8_t* marks, int64_t stride, T* matrix, const volatile bool* stop) {
        kernel_.rows(program_.how, x_, lanes_, band(), first, last, row, marks, stride, matrix, stop);
    }

    Band band() const { return {lo_.get(), hi_.get(), lo_all_.get(), hi_all_.get()}; }
    const Rows<T>& x() const { return x_; }
    const Lanes<T>& lanes() const { return lanes_; }
    T* row() { return row_.get(); }

  private:
    void copy(const T* from, int64_t steps, T* into) const {
        std::fill(into, into + channels_, T(0));
        std::copy(from, from + steps * channels_, into + channels_);
    }

    void fill_band(int64_t n) {
        for (int l = 0; l < lanes_.used; l++)
            above_[l] = T(window_.above(n, lengths_[l])), below_[l] = T(window_.below(n, lengths_[l]));
        window_.fill(n, lanes_.length, lo_.get(), hi_.get());
        lanes_.lo = lanes_.hi = nullptr;
        if (alike_ || !lane_lo_) {
            std::copy_n(lo_.get(), n, lo_all_.get()), std::copy_n(hi_.get(), n, hi_all_.get());
            return;
        }
        std::fill_n(lo_.get(), n, INT32_MAX), std::fill_n(hi_.get(), n, -1);
        std::fill_n(lo_all_.get(), n, -1), std::fill_n(hi_all_.get(), n, INT32_MAX);
        own_lo_.resize(size_t(n)), own_hi_.resize(size_t(n));
        for (int l = 0; l < width_; l++) {
            const int lane = l < lanes_.used ? l : 0;  // lanes that nobody asks for must not be empty
            if (l == 0 || lane != l || lengths_[l] != lengths_[l - 1])  // they come by length
                window_.fill(n, lengths_[lane], own_lo_.data(), own_hi_.data());
            for (int64_t i = 0; i < n; i++) {
                const int32_t lo = own_lo_[size_t(i)], hi = own_hi_[size_t(i)];
                lo_[i] = std::min(lo_[i], lo), hi_[i] = std::max(hi_[i], hi);
                lo_all_[i] = std::max(lo_all_[i], lo), hi_all_[i] = std::min(hi_all_[i], hi);
                lane_lo_[i * width_ + l] = T(lo), lane_hi_[i * width_ + l] = T(hi);
            }
        }
        lanes_.lo = lane_lo_.get(), lanes_.hi = lane_hi_.get();
    }

    bool has(int trait) const { return traits_ & trait; }

    const Kernels<T>& kernel_;
    const Program<T>& program_;
    Window window_;
    int64_t channels_;
    int width_, traits_;
    int64_t filled_n_ = -1;  // the rows that band and offsets were made for, with the columns as they are
    bool alike_ = true;      // whether all lanes have one length
    Buffer<T> columns_, row_, rows_, x_edge_, y_edge_, x_border_, y_border_, offsets_, lane_lo_, lane_hi_;
    Buffer<int32_t> lo_, hi_, lo_all_, hi_all_;
    std::vector<int32_t> own_lo_, own_hi_;  // of one lane
    int64_t lengths_[64];  // by lane, of which no register has more
    T thresholds_[64], above_[64] = {}, below_[64] = {};
    Rows<T> x_;
    Lanes<T> lanes_;
};

}  // namespace timelike
