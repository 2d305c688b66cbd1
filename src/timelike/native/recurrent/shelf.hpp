// Memory for what is kept between the way forward and the way back. A training step asks for as much as the one before, and
// the system clears every page it gives out, which took a tenth of a step: what is given back waits here for the next.
#pragma once
#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace timelike {

struct Room {
    void* memory;
    std::size_t bytes;
};

class Shelf {
  public:
    // At least so many bytes, not cleared.
    Room take(std::size_t bytes) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            const auto found = std::find_if(spare_.begin(), spare_.end(), [&](const Room& room) { return room.bytes >= bytes; });
            if (found != spare_.end()) {  // the smallest; a larger one costs nothing, what is not touched is not there
                const Room room = *found;
                spare_.erase(found);
                return room;
            }
        }
        const std::size_t rounded = (bytes / page + 1) * page;
        const Room room{::operator new(rounded, std::align_val_t(page)), rounded};
#if defined(__linux__)
        madvise(room.memory, room.bytes, MADV_HUGEPAGE);
#endif
        return room;
    }

    void give(Room room) noexcept {
#if defined(__linux__)
        // until it is written to again, the system may take the pages back as if nobody had them
        if (madvise(room.memory, room.bytes, MADV_FREE) == 0) room = kept_instead_of(room);
#endif
        if (room.memory) ::operator delete(room.memory, std::align_val_t(page));
    }

  private:
    static constexpr std::size_t page = std::size_t(1) << 21, most = 8;  // most: a step has a few calls under way

    // the smallest, where there are too many
    Room kept_instead_of(Room room) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        const auto place = std::find_if(spare_.begin(), spare_.end(), [&](const Room& other) { return other.bytes >= room.bytes; });
        spare_.insert(place, room);  // has room for it
        if (spare_.size() <= most) return {nullptr, 0};
        const Room least = spare_.front();
        spare_.erase(spare_.begin());
        return least;
    }

    std::mutex mutex_;
    std::vector<Room> spare_ = [] {
        std::vector<Room> made;
        made.reserve(most + 1);
        return made;
    }();  // by size
};

}  // namespace timelike
