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

// Page-aligned buffers for reads past the page cache. They are cut from one
// piece of memory, which a ring can register with the kernel as a whole; when
// that is spent, as it soon is where bytes are kept for long, each is mapped on
// its own. Of those some are kept for the next reads of the same length: what
// was mapped before need not be cleared once more.
//
// Thread-safe. Shared: buffers keep their pool alive. Never blocks for I/O.
// Take gives null where memory is spent.
class PagePool : public std::enable_shared_from_this<PagePool> {
 public:
  // With `bytes` in one piece: whole pages, touched only when used. Keeps at
  // most `spare_bytes` of what was mapped beside it.
  explicit PagePool(std::size_t bytes, std::size_t spare_bytes = 0);
  ~PagePool();

  // At least `length` bytes, and less than a page more, with any content.
  std::shared_ptr<std::uint8_t> Take(std::size_t length);

  // The piece; empty where there was no memory for it.
  absl::Span<std::uint8_t> piece() const { return piece_; }
  // Bytes of it that are free.
  std::size_t free() const;
  // Bytes that are kept beside it.
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
