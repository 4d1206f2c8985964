#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSED_SCAN_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSED_SCAN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::storage::compressed {

// An access point whose window or piece is not kept yet.
struct ScanPoint {
  std::uint64_t offset = 0;  // as in AccessPoint
  std::uint64_t bit = 0;
  absl::Span<const std::uint8_t> window;  // at most kWindowBytes
  // The decompressed bytes from `offset` on: at most kMostApart, and none
  // beyond the next point. Empty if the point needs no piece.
  absl::Span<const std::uint8_t> piece;
};

// Decompresses a whole file, part by part, and finds its access points. Checks
// all checksums and lengths.
//
// Not thread-safe. The user owns the scan, which counts its memory in a
// WorkingMemory. Never blocks. An error ends the scan, and its message is only
// the reason:
// - DATA_LOSS: the file is damaged or truncated, or other bytes follow its end.
// - UNIMPLEMENTED: the daemon cannot decompress such a file.
// - RESOURCE_EXHAUSTED: the WorkingMemory is used up.
// - The errors of the callbacks.
class CompressedScan {
 public:
  // Receives decompressed bytes in their order, at most 128 KiB at a time.
  using Out =
      absl::FunctionRef<absl::Status(absl::Span<const std::uint8_t> bytes)>;
  // Receives the points in their order. There is at least one, and the first
  // has offset 0.
  using OnPoint = absl::FunctionRef<absl::Status(const ScanPoint& point)>;

  virtual ~CompressedScan() = default;

  // Takes the file's next bytes. Before it returns, `out` has received
  // everything that these bytes decompress to.
  virtual absl::Status Take(absl::Span<const std::uint8_t> compressed, Out out,
                            OnPoint on_point) = 0;
  // Ends the scan. The caller has passed all bytes of the file to Take.
  virtual absl::Status Finish(OnPoint on_point) = 0;

  // Returns the number of compressed bytes that the scan has taken.
  virtual std::uint64_t compressed_bytes() const = 0;
  // Returns the number of decompressed bytes so far.
  virtual std::uint64_t decompressed_bytes() const = 0;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSED_SCAN_H_
