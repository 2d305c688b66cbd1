// Which cells of a program a path may visit.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace timelike {

enum class Shape : int { sakoe = 0, slanted = 1, itakura = 2, widened = 3, aeon = 4 };

// A number of cells, a share of a length, or neither: no bound. For Itakura's parallelogram `share` is the largest slope.
struct Window {
    Shape shape = Shape::sakoe;
    int64_t cells = -1;
    double share = -1;

    bool open() const { return cells < 0 && share < 0; }
    // whether lanes of unequal lengths have unequal bands
    bool by_length() const { return !open() && (shape != Shape::sakoe || share >= 0); }
    // whether the band lies between two diagonals, so that one number says how wide it must be for a path
    bool diagonal() const { return shape == Shape::sakoe || shape == Shape::widened; }

    int64_t radius(int64_t n, int64_t m) const {
        if (cells >= 0) return cells;
        if (shape == Shape::aeon) return int64_t(share * double(std::min(n, m)));
        const int64_t length = diagonal() ? std::max(n, m) : std::min(n, m);
        return int64_t(std::floor(share * double(length) + 1e-9));  // 0.1 × 60 means 6, however it rounds
    }

    // how far beyond the radius a path may go above and below the diagonal: as far as the one sequence is longer
    int64_t above(int64_t n, int64_t m) const { return shape == Shape::widened ? std::max<int64_t>(0, m - n) : 0; }
    int64_t below(int64_t n, int64_t m) const { return above(m, n); }

    void fill(int64_t n, int64_t m, int32_t* lo, int32_t* hi) const {
        if (open() || (!diagonal() && shape != Shape::aeon && (n == 1 || m == 1))) {
            for (int64_t i = 0; i < n; i++) lo[i] = 0, hi[i] = int32_t(m - 1);
        } else if (shape == Shape::itakura) {
            parallelogram(n, m, lo, hi);
        } else if (shape == Shape::slanted) {
            slanted(n, m, lo, hi);
        } else if (shape == Shape::aeon) {
            stairs(n, m, lo, hi);
        } else {
            const int64_t r = radius(n, m), down = r + below(n, m), up = r + above(n, m);
            for (int64_t i = 0; i < n; i++) {
                lo[i] = int32_t(std::max<int64_t>(0, i - down));
                hi[i] = int32_t(std::min(m - 1, i + up));
            }
        }
    }

  private:
    // |j (n−1) − i (m−1)| ≤ (r + ½)(longer − 1): along the shorter sequence at most r cells, and rounding, from the line
    // between the corners. In integers, so that the band of (m, n) is the transpose of that of (n, m).
    void slanted(int64_t n, int64_t m, int32_t* lo, int32_t* hi) const {
        const int64_t slack = (2 * radius(n, m) + 1) * (std::max(n, m) - 1), unit = 2 * (n - 1);
        for (int64_t i = 0; i < n; i++) {
            const int64_t line = 2 * i * (m - 1), least = line - slack;
            lo[i] = int32_t(least <= 0 ? 0 : (least + unit - 1) / unit);
            hi[i] = int32_t(std::min(m - 1, (line + slack) / unit));
        }
    }

    // aeon's line from corner to corner: step k of the longer sequence lies at ⌊(k + 1)/(longer + 1) · shorter⌋ of the
    // shorter, divided first, as it does, because rounding decides. Its window of 1.0 is no bound.
    void stairs(int64_t n, int64_t m, int32_t* lo, int32_t* hi) const {
        const int64_t r = share == 1.0 ? std::max(n, m) : radius(n, m);
        auto stair = [](int64_t k, int64_t longer, int64_t shorter) {
            return int64_t(std::floor(double(k + 1) / double(longer + 1) * double(shorter)));
        };
        int64_t first = 0, last = 0;
        for (int64_t i = 0; i < n; i++) {
            if (n > m) {
                first = std::max<int64_t>(0, stair(i, n, m) - r), last = std::min(m - 1, stair(i, n, m) + r);
            } else {
                while (first < m - 1 && stair(first, m, n) < i - r) first++;
                while (last < m - 1 && stair(last + 1, m, n) <= i + r) last++;
            }
            lo[i] = int32_t(first), hi[i] = int32_t(last);
        }
    }

    // slopes between 1/share and share from both corners, in times scaled to [0, 1]
    void parallelogram(int64_t n, int64_t m, int32_t* lo, int32_t* hi) const {
        for (int64_t i = 0; i < n; i++) {
            const double u = double(i) / double(n - 1);
            const double low = std::max(u / share, 1 - share * (1 - u)), high = std::min(u * share, 1 - (1 - u) / share);
            lo[i] = int32_t(std::max(0.0, std::ceil(low * double(m - 1) - 1e-9)));
            hi[i] = int32_t(std::min(double(m - 1), std::floor(high * double(m - 1) + 1e-9)));
        }
    }
};

}  // namespace timelike
