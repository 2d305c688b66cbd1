// Memory for what is kept between the way forward and the way back. A training step asks for as much as the one before, and
// the system clears every page it gives out, which took up to a third of a step: what is given back waits for the next.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>

namespace timelike {

// At least so many bytes, not cleared, aligned to pages; goes back to the shelf at the end.
class Room {
  public:
    explicit Room(std::size_t bytes);
    ~Room();
    Room(const Room&) = delete;

    void* memory() const { return memory_; }

    // an array of Python's that holds this room, which must have been made by `new`, as long as anybody looks at it
    template <class T>
    nanobind::object array(std::size_t count) {
        const std::size_t shape[1] = {count};
        nanobind::capsule owner(this, [](void* held) noexcept { delete static_cast<Room*>(held); });
        return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(memory_, 1, shape, owner));
    }

  private:
    void* memory_;
    std::size_t bytes_;
};

}  // namespace timelike
