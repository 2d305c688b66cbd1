// Where the cells of a few pairs lie: anti-diagonal after anti-diagonal, in each row after row, in a row lane after lane.
// Every diagonal has one row more at both ends, which stands for what is outside, so that a cell's neighbours can always
// be read. Lanes of other lengths, or with another band, have cells that are masked.
#pragma once
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "elastic/band.hpp"
#include "soft/table.hpp"

namespace timelike {

struct Lane {
    int64_t pair, n, m;
    int64_t end() const { return n + m - 2; }  // the diagonal of its last cell
};

// The rows lo[d] ..= hi[d] of every diagonal of one lane, and the columns first[i] ..= last[i] of every row.
struct Extent {
    int64_t n, m;
    std::vector<int32_t> first, last, lo, hi;

    Extent(const Window& window, int64_t n, int64_t m, int64_t diagonals)
        : n(n), m(m), first(n), last(n), lo(diagonals), hi(diagonals) {
        window.fill(n, m, first.data(), last.data());
        int64_t top = 0, bottom = 0;
        for (int64_t d = 0; d < diagonals; d++) {
            while (top < n && top + last[top] < d) top++;
            while (bottom + 1 < n && bottom + 1 + first[bottom + 1] <= d) bottom++;
            // past the last cell: empty, and growing no faster than elsewhere, so that a row at each end stays enough
            lo[d] = int32_t(d <= n + m - 2 ? top : d - m + 1), hi[d] = int32_t(bottom);
        }
    }
};

class Sheet {
  public:
    Sheet(const Window& window, std::vector<Lane> given, int register_lanes) : lanes(std::move(given)), width_(register_lanes) {
        for (const Lane& lane : lanes) {
            n = std::max(n, lane.n), m = std::max(m, lane.m);
            diagonals = std::max(diagonals, lane.end() + 1);
        }
        extents_.reserve(lanes.size());
        for (const Lane& lane : lanes) {
            if (extents_.empty() || extents_.back().n != lane.n || extents_.back().m != lane.m)
                extents_.emplace_back(window, lane.n, lane.m, diagonals);
            extent_of_.push_back(extents_.size() - 1);
        }
        join();
    }

    std::vector<Lane> lanes;
    int64_t n = 0, m = 0, diagonals = 0;

    int64_t count() const { return int64_t(lanes.size()); }
    const Extent& extent(int64_t lane) const { return extents_[extent_of_[lane]]; }
    const std::vector<Extent>& extents() const { return extents_; }
    int64_t lo(int64_t d) const { return lo_[d + 2]; }
    int64_t hi(int64_t d) const { return hi_[d + 2]; }
    int64_t cells(int64_t d) const { return (hi(d) - lo(d) + 1) * count(); }
    // numbers that diagonals begin .. end − 1 take, and where d lies among those from `begin` on
    int64_t size(int64_t begin, int64_t end) const { return at_[end + 2] - at_[begin + 2]; }
    int64_t widest() const { return widest_; }
    int64_t register_lanes() const { return width_; }  // free room at both ends of a diagonal

  private:
    void join() {
        // two diagonals before the first hold the border, two after the last the empty flows
        for (int64_t d = -2; d < diagonals + 2; d++) {
            int64_t low = d < 0 ? 0 : n + m, high = -1;
            for (const Extent& extent : extents_) {
                if (d < 0) continue;
                const bool known = d < diagonals;
                low = std::min<int64_t>(low, known ? extent.lo[d] : d - extent.m + 1);
                high = std::max<int64_t>(high, known ? extent.hi[d] : extent.n - 1);
            }
            lo_.push_back(low), hi_.push_back(high);
            const int64_t need = (std::max<int64_t>(high - low + 1, 0) + 2) * count() + 2 * width_;
            widest_ = std::max(widest_, need);
            at_.push_back(total_);
            total_ += (need + width_ - 1) / width_ * width_;
        }
        at_.push_back(total_);
    }

    int width_;
    int64_t total_ = 0, widest_ = 0;
    std::vector<Extent> extents_;
    std::vector<size_t> extent_of_;
    std::vector<int64_t> lo_, hi_, at_;
};

// Diagonals begin − 2 .. end − 1 in memory; cell (i, d − i) of lane l is at(d)[i · lanes + l].
template <class T>
struct Slab {
    const Sheet* sheet;
    T* memory;
    int64_t begin;

    T* at(int64_t d) const {
        return memory + sheet->size(begin - 2, d) + sheet->register_lanes() + (1 - sheet->lo(d)) * sheet->count();
    }

    void pad(int64_t d, T value) const {
        const int64_t L = sheet->count();
        std::fill_n(at(d) + (sheet->lo(d) - 1) * L, L, value);
        std::fill_n(at(d) + (sheet->hi(d) + 1) * L, L, value);
    }

    // the corner (−1, −1) has `corner`, everything else before the first cell has `outside`
    void border(T corner, T outside) const {
        pad(-2, outside), pad(-1, outside);
        std::fill_n(at(-2) - sheet->count(), sheet->count(), corner);
    }

    Predecessors<const T*> before(int64_t d) const {
        const int64_t L = sheet->count(), k = sheet->lo(d) * L;
        return {at(d - 2) + k - L, at(d - 1) + k - L, at(d - 1) + k};
    }

    T* cells(int64_t d) const { return at(d) + sheet->lo(d) * sheet->count(); }
};

// What flows from the cells of the last three diagonals to those before them.
template <class T>
class Flows {
  public:
    // three diagonals of three ways: a cell takes from the two diagonals after its own
    Flows(const Sheet& sheet) : sheet_(sheet), memory_(9 * sheet.widest(), T(0)) {}

    Predecessors<T*> of(int64_t d) { return {at(d, 0), at(d, 1), at(d, 2)}; }
    Predecessors<const T*> after(int64_t d) {
        const int64_t L = sheet_.count();
        return {from(d + 2, 0, d) + L, from(d + 1, 1, d) + L, from(d + 1, 2, d)};
    }
    void enter(int64_t d, int64_t row, int64_t lane, T value) {
        const int64_t k = (row - sheet_.lo(d + 1)) * sheet_.count() + lane;
        at(d + 1, 2)[k] += value;
    }
    void close(int64_t d) {  // nothing flows from outside, and the loop may have written there
        const int64_t L = sheet_.count();
        for (int way = 0; way < 3; way++) {
            std::fill_n(base(d, way), L, T(0));
            std::fill_n(at(d, way) + sheet_.cells(d), L, T(0));
        }
    }

  private:
    T* base(int64_t d, int way) { return memory_.data() + (d % 3 * 3 + way) * sheet_.widest(); }
    T* at(int64_t d, int way) { return base(d, way) + sheet_.count(); }  // its first cell
    const T* from(int64_t d, int way, int64_t row_of) { return at(d, way) + (sheet_.lo(row_of) - sheet_.lo(d)) * sheet_.count(); }

    const Sheet& sheet_;
    std::vector<T> memory_;
};

}  // namespace timelike
