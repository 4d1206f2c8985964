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

// Keeps buffers of finished reads for later reads: memory that was touched
// before costs no page faults. There are only four sizes for each power of two,
// and a requested size is rounded up to one of them.
//
// Thread-safe. A pool is shared: its buffers keep it alive. Calls never block
// for I/O. Take returns null if there is no memory, or for more than 896 GiB.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // Makes a pool that keeps at most `spare_bytes` bytes of returned buffers.
  explicit BufferPool(std::size_t spare_bytes) : spare_bytes_(spare_bytes) {}
  ~BufferPool();

  // Returns a buffer of at least `length` bytes, with any content. The
  // reference counts lie in front of the buffer, so nothing else is allocated.
  std::shared_ptr<std::uint8_t> Take(std::size_t length);

  // Returns the total bytes of the buffers that are ready for reuse.
  std::size_t spare() const;

 private:
  // The smallest size class has 1 << kMinShift bytes, which is a page.
  static constexpr std::size_t kMinShift = 12;
  // There are four classes for each of 28 powers of two: from 4 KiB to 896 GiB.
  static constexpr std::size_t kClasses = 4 * 28;
  // The bytes in front of a buffer, which hold the shared_ptr's control block.
  // They fill two cache lines: if the allocated memory begins at a cache line,
  // so does the buffer.
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

  // Keeps the buffer for reuse if it fits into `spare_bytes_`, or frees it.
  void GiveBack(std::uint8_t* buffer, std::size_t size_class);

  const std::size_t spare_bytes_;
  mutable base::Mutex mutex_;
  std::size_t spare_ ABSL_GUARDED_BY(mutex_) = 0;
  // The buffers that are ready for reuse, by their size class.
  std::array<std::vector<std::uint8_t*>, kClasses> free_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_BUFFER_POOL_H_
