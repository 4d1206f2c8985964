#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_POINT_WINDOWS_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_POINT_WINDOWS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/storage/compressed/access_point.h"

namespace forebay::storage::compressed {

// Returns a window or a piece in the form that the store takes: compressed by
// zstd, if that makes it short enough. Thread-safe; never blocks; has no
// errors.
std::string CompressOrStore(absl::Span<const std::uint8_t> bytes);

// The kept windows and pieces of many access points, one after another. They
// lie in memory, or in a file of the daemon's own that is read at each call.
//
// Thread-safe and immutable. The store owns the file's descriptor, so another
// file may take the file's name meanwhile. Find and FindPiece block for the
// disk. An error's message is only the reason.
class PointWindows {
 public:
  // Makes a store in memory, of bytes that CompressOrStore gave.
  explicit PointWindows(std::string bytes)
      : bytes_(std::move(bytes)), size_(bytes_.size()) {}
  // Makes a store of the `size` bytes that lie in the file from `offset` on.
  PointWindows(base::Fd file, std::uint64_t offset, std::uint64_t size)
      : file_(std::move(file)), offset_(offset), size_(size) {}

  std::uint64_t size() const { return size_; }                // bytes
  std::uint64_t memory() const { return bytes_.capacity(); }  // bytes

  // Returns the window of a point, which is empty if the point has none.
  // Errors: DATA_LOSS (the file does not have what was kept there), and those
  // of reading the file.
  absl::StatusOr<std::string> Find(const AccessPoint& point) const;
  // Returns the piece, of `length` bytes, of a point that has one. `length` is
  // at most kMostApart. Errors are those of Find.
  absl::StatusOr<std::string> FindPiece(const AccessPoint& point,
                                        std::uint64_t length) const;

 private:
  // Returns the kept form of the point's window or piece: at most `most` bytes,
  // after a first byte that tells whether they are compressed.
  absl::StatusOr<std::string> Read(const AccessPoint& point,
                                   std::uint64_t most) const;

  const base::Fd file_;
  const std::string bytes_;
  const std::uint64_t offset_ = 0;
  const std::uint64_t size_;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_POINT_WINDOWS_H_
