#ifndef FOREBAY_SERVER_STORAGE_INFLATED_WINDOWS_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_WINDOWS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/storage/inflated/access_point.h"

namespace forebay::storage::inflated {

// Returns a window or a piece as it is kept: packed by zstd, if that is worth
// it. Thread-safe; never blocks; has no errors.
std::string PackKept(absl::Span<const std::uint8_t> bytes);

// The kept windows and pieces of many access points, one behind the other: in
// memory, or in a file of the daemon's own, of which memory has nothing.
//
// Immutable and thread-safe. Owns the file's descriptor, so that the file may
// be replaced. Finding blocks for the disk. Errors give the reason alone.
class Windows {
 public:
  explicit Windows(std::string bytes)
      : bytes_(std::move(bytes)), size_(bytes_.size()) {}
  // Those that lie in the file from `offset` on, `size` bytes.
  Windows(base::Fd file, std::uint64_t offset, std::uint64_t size)
      : file_(std::move(file)), offset_(offset), size_(size) {}

  std::uint64_t size() const { return size_; }                // bytes
  std::uint64_t memory() const { return bytes_.capacity(); }  // bytes

  // Returns the window of a point, which is empty if it has none. DATA_LOSS:
  // the file has not what was kept there. Others: the disk's.
  absl::StatusOr<std::string> Find(const AccessPoint& point) const;
  // Returns the piece of a point that has one of `length` bytes, at most
  // kMostApart. Errors as above.
  absl::StatusOr<std::string> FindPiece(const AccessPoint& point,
                                        std::uint64_t length) const;

 private:
  // Returns what was kept, at most `most` bytes and one.
  absl::StatusOr<std::string> Read(const AccessPoint& point,
                                   std::uint64_t most) const;

  const base::Fd file_;
  const std::string bytes_;
  const std::uint64_t offset_ = 0;
  const std::uint64_t size_;
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_WINDOWS_H_
