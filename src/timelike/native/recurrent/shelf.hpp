// Memory for what is kept between the way forward and the way back. A training step asks for the same again and again, and the
// system clears every page it gives out, which took a tenth of a step: what is given back waits here for the next step.
#pragma once
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace timelike {

class Shelf {
  public:
    void* take(std::size_t bytes) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            for (std::size_t k = 0; k < spare_.size(); k++)
                if (spare_[k].bytes == rounded(bytes)) {
                    void* const found = spare_[k].memory;
                    spare_.erase(spare_.begin() + std::ptrdiff_t(k));
                    return found;
                }
        }
        void* const made = ::operator new(rounded(bytes), std::align_val_t(page));
#if defined(__linux__)
        madvise(made, rounded(bytes), MADV_HUGEPAGE);
#endif
        return made;
    }

    void give(void* memory, std::size_t bytes) {
#if defined(__linux__)
        // until it is written to again, the system may take the pages back as if nobody had them
        if (madvise(memory, rounded(bytes), MADV_FREE) == 0) {
            std::lock_guard<std::mutex> lock(mutex_);
            spare_.push_back({memory, rounded(bytes)});
            if (spare_.size() <= most) return;
            memory = spare_.front().memory;
            spare_.erase(spare_.begin());
        }
#endif
        ::operator delete(memory, std::align_val_t(page));
    }

  private:
    static constexpr std::size_t page = std::size_t(1) << 21, most = 8;
    struct Spare {
        void* memory;
        std::size_t bytes;
    };
    // to few sizes, so that steps on crops of other lengths meet what fits
    static std::size_t rounded(std::size_t bytes) {
        std::size_t step = page;
        while (step * 8 < bytes) step *= 2;
        return (bytes + step - 1) / step * step;
    }
    std::mutex mutex_;
    std::vector<Spare> spare_;
};

}  // namespace timelike
