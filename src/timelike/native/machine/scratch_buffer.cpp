// The pool that scratch buffers return to.
#include "machine/scratch_buffer.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace timelike {
namespace {

using Spare = std::pair<std::size_t, void*>;  // bytes, and where

constexpr std::size_t page = std::size_t(1) << 21, most = 8;  // most: a step has a few calls under way

void release(void* memory) noexcept { ::operator delete(memory, std::align_val_t(page)); }

class BufferPool {
  public:
    Spare take(std::size_t bytes) {
        const std::size_t rounded = (bytes / page + 1) * page;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            const auto found = std::lower_bound(spare_.begin(), spare_.end(), Spare{rounded, nullptr});
            if (found != spare_.end()) {  // the smallest; a larger one costs nothing, what is not touched is not there
                const Spare room = *found;
                spare_.erase(found);
                return room;
            }
            // one that is too small goes first: buffers of ever longer crops would accumulate
            if (!spare_.empty()) release(spare_.back().second), spare_.pop_back();
        }
        const Spare room{rounded, ::operator new(rounded, std::align_val_t(page))};
#if defined(__linux__)
        madvise(room.second, room.first, MADV_HUGEPAGE);
#endif
        return room;
    }

    void give(Spare room) noexcept {
#if defined(__linux__)
        // until it is written to again, the system may take the pages back as if nobody had them
        if (madvise(room.second, room.first, MADV_FREE) == 0) {
            std::lock_guard<std::mutex> lock(mutex_);
            spare_.insert(std::upper_bound(spare_.begin(), spare_.end(), room), room);  // there is room for it: see below
            if (spare_.size() <= most) return;
            room = spare_.front();
            spare_.erase(spare_.begin());
        }
#endif
        release(room.second);
    }

  private:
    std::mutex mutex_;
    std::vector<Spare> spare_ = [] {
        std::vector<Spare> made;
        made.reserve(most + 1);
        return made;
    }();  // by size
};

// never destroyed: arrays may outlive static destruction
BufferPool& buffer_pool() {
    static BufferPool* const one = new BufferPool;
    return *one;
}

}  // namespace

ScratchBuffer::ScratchBuffer(std::size_t bytes) {
    const Spare room = buffer_pool().take(bytes);
    bytes_ = room.first, memory_ = room.second;
}

ScratchBuffer::~ScratchBuffer() { buffer_pool().give({bytes_, memory_}); }

}  // namespace timelike
