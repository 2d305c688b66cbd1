// Memory for what is kept between the forward and the backward pass. A training step asks for as much as the one before, and
// the system clears every page it gives out, which took up to a third of a step: what is given back waits for the next.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>

namespace timelike {

// At least so many bytes, not cleared, aligned to pages; goes back to the buffer_pool at the end.
class ScratchBuffer {
  public:
    explicit ScratchBuffer(std::size_t bytes);
    ~ScratchBuffer();
    ScratchBuffer(const ScratchBuffer&) = delete;

    void* memory() const { return memory_; }

    // an array of Python's that holds this buffer, which must have been made by `new`, for as long as it is referenced
    template <class T>
    nanobind::object array(std::size_t count) {
        const std::size_t shape[1] = {count};
        nanobind::capsule owner(this, [](void* held) noexcept { delete static_cast<ScratchBuffer*>(held); });
        return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(memory_, 1, shape, owner));
    }

  private:
    void* memory_;
    std::size_t bytes_;
};

}  // namespace timelike
