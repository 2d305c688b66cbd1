// Scratch memory, aligned to the widest register.
#pragma once
#include <cstdint>
#include <memory>
#include <new>

namespace timelike {

// 64 bytes are a register of AVX-512 and a line of the cache: no aligned read touches two lines.
struct AlignedDelete {
    void operator()(void* memory) const { ::operator delete(memory, std::align_val_t(64)); }
};
template <class T> using Buffer = std::unique_ptr<T[], AlignedDelete>;

// Not cleared: who needs zeros writes them. An empty one has a place too, because a null pointer means "not requested".
template <class T>
Buffer<T> buffer(int64_t count) {
    return Buffer<T>(static_cast<T*>(::operator new(size_t(count > 0 ? count : 1) * sizeof(T), std::align_val_t(64))));
}

}  // namespace timelike
