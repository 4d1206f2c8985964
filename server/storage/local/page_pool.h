#ifndef FOREBAY_SERVER_STORAGE_LOCAL_PAGE_POOL_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_PAGE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"

namespace forebay::storage::local {

// Page-aligned buffers for reads past the page cache. The pool cuts them from
// one piece of memory, which a ring can register with the kernel as a whole.
// Once the piece is used up, each further buffer is mapped by itself. This
// happens soon if bytes are held for long. Some of the buffers mapped in this
// way are kept for reads of the same length, so that the kernel need not clear
// their pages again.
//
// Thread-safe. A pool is shared: its buffers keep it alive. Never blocks for
// I/O. Take returns null if there is no memory.
class PagePool : public std::enable_shared_from_this<PagePool> {
 public:
  // Maps the piece: `bytes` bytes, rounded down to whole pages. The constructor
  // does not touch these pages. When buffers mapped outside the piece are given
  // back, the pool keeps at most `spare_bytes` bytes of them.
  explicit PagePool(std::size_t bytes, std::size_t spare_bytes = 0);
  ~PagePool();

  // Returns a buffer of `length` bytes, rounded up to whole pages, with any
  // content.
  std::shared_ptr<std::uint8_t> Take(std::size_t length);

  // Returns the piece, which is empty if there was no memory for it.
  absl::Span<std::uint8_t> piece() const { return piece_; }
  // Returns how many bytes of the piece are free.
  std::size_t free() const;
  // Returns how many bytes the kept buffers outside the piece have.
  std::size_t spare() const;

 private:
  // Cuts `length` bytes from the piece and returns their offset; nullopt if no
  // free part is long enough.
  std::optional<std::size_t> Cut(std::size_t length);
  // Joins a buffer with the free parts beside it.
  void GiveBack(std::uint8_t* buffer, std::size_t length);
  // Returns a kept buffer of that length, or null if there is none.
  std::uint8_t* TakeSpare(std::size_t length);
  // Keeps or unmaps a buffer that was mapped outside the piece.
  void GiveBackMapped(std::uint8_t* buffer, std::size_t length);

  const absl::Span<std::uint8_t> piece_;
  const std::size_t spare_bytes_;
  mutable base::Mutex mutex_;
  // The kept buffers outside the piece, by length.
  std::map<std::size_t, std::vector<std::uint8_t*>> spares_
      ABSL_GUARDED_BY(mutex_);
  std::size_t spare_ ABSL_GUARDED_BY(mutex_) = 0;
  // The free parts of the piece, as offset and length. No two parts touch.
  std::map<std::size_t, std::size_t> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_PAGE_POOL_H_
