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
// When the piece is used up, as it soon is if bytes are held for long, it maps
// each on its own. It keeps some of these for reads of the same length: the
// kernel need not clear them again.
//
// Thread-safe. Shared: buffers keep their pool alive. Never blocks for I/O.
// Take returns null if there is no memory.
class PagePool : public std::enable_shared_from_this<PagePool> {
 public:
  // Maps `bytes` in one piece: whole pages, touched only when used. Keeps at
  // most `spare_bytes` of the buffers mapped beside it.
  explicit PagePool(std::size_t bytes, std::size_t spare_bytes = 0);
  ~PagePool();

  // Returns at least `length` bytes, less than a page more, with any content.
  std::shared_ptr<std::uint8_t> Take(std::size_t length);

  // Returns the piece; empty if there was no memory for it.
  absl::Span<std::uint8_t> piece() const { return piece_; }
  // Returns the free bytes of the piece.
  std::size_t free() const;
  // Returns the bytes that are kept beside the piece.
  std::size_t spare() const;

 private:
  std::optional<std::size_t> Cut(std::size_t length);
  void GiveBack(std::uint8_t* buffer, std::size_t length);
  std::uint8_t* TakeSpare(std::size_t length);
  void GiveBackMapped(std::uint8_t* buffer, std::size_t length);

  const absl::Span<std::uint8_t> piece_;
  const std::size_t spare_bytes_;
  mutable base::Mutex mutex_;
  // Beside the piece, by length.
  std::map<std::size_t, std::vector<std::uint8_t*>> spares_
      ABSL_GUARDED_BY(mutex_);
  std::size_t spare_ ABSL_GUARDED_BY(mutex_) = 0;
  // Free parts of the piece: offset to length. No two touch.
  std::map<std::size_t, std::size_t> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_PAGE_POOL_H_
