#ifndef FOREBAY_SERVER_STORAGE_BUFFER_POOL_H_
#define FOREBAY_SERVER_STORAGE_BUFFER_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::storage {

// Recycles the buffers of reads: a page that was touched before costs no fault.
// Rounds sizes up to one of four steps between powers of two.
//
// Thread-safe. Shared: buffers keep their pool alive. Never blocks for I/O.
// Take returns null if there is no memory, or for more than 896 GiB.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // Keeps at most `spare_bytes` of returned buffers.
  explicit BufferPool(std::size_t spare_bytes) : spare_bytes_(spare_bytes) {}
  ~BufferPool();

  // Returns at least `length` bytes, with any content. The reference counts lie
  // in front of the buffer: nothing else is allocated.
  std::shared_ptr<std::uint8_t> Take(std::size_t length);

  // Bytes of returned buffers that are ready for reuse.
  std::size_t spare() const;

 private:
  static constexpr std::size_t kMinShift = 12;
  static constexpr std::size_t kClasses = 4 * 28;  // 4 KiB to 896 GiB
  static constexpr std::size_t kFrontBytes = 128;

  // The allocator of a buffer's shared_ptr: it places the counts in front of
  // the buffer, and returns the buffer when the last reference is gone.
  template <typename Counts>
  struct Front {
    // NOLINTNEXTLINE(readability-identifier-naming): as allocators call it
    using value_type = Counts;

    Front(std::shared_ptr<BufferPool> owner, std::uint8_t* memory,
          std::size_t of_class)
        : pool(std::move(owner)), buffer(memory), size_class(of_class) {}
    template <typename Other>
    // NOLINTNEXTLINE(google-explicit-constructor): as allocators convert
    Front(const Front<Other>& other)
        : Front(other.pool, other.buffer, other.size_class) {}

    Counts* allocate(std::size_t) {
      static_assert(sizeof(Counts) <= kFrontBytes);
      return reinterpret_cast<Counts*>(buffer);
    }
    void deallocate(Counts*, std::size_t) {
      pool->GiveBack(buffer, size_class);
    }
    template <typename Other>
    bool operator==(const Front<Other>& other) const {
      return buffer == other.buffer;
    }

    std::shared_ptr<BufferPool> pool;
    std::uint8_t* buffer;
    std::size_t size_class;
  };

  void GiveBack(std::uint8_t* buffer, std::size_t size_class);

  const std::size_t spare_bytes_;
  mutable base::Mutex mutex_;
  std::size_t spare_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<std::vector<std::uint8_t*>, kClasses> free_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_BUFFER_POOL_H_
