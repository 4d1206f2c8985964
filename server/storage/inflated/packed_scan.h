#ifndef FOREBAY_SERVER_STORAGE_INFLATED_PACKED_SCAN_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_PACKED_SCAN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::storage::inflated {

// An access point whose window or piece is not kept yet.
struct FoundPoint {
  std::uint64_t offset = 0;  // as AccessPoint's
  std::uint64_t bit = 0;
  absl::Span<const std::uint8_t> window;  // at most kWindowBytes
  // Bytes that the file inflates to from `offset` on, at most kMostApart, and
  // no more than up to the next point. Empty, unless they have to be kept.
  absl::Span<const std::uint8_t> piece;
};

// Inflates a whole file, piece by piece, and finds its access points. Checks
// all checksums and lengths.
//
// Not thread-safe. Counts its memory in a WorkingMemory. Never blocks. Errors
// end it, and give the reason alone: DATA_LOSS: the file is damaged or
// truncated, or has something behind its end; UNIMPLEMENTED: it cannot be
// inflated here; RESOURCE_EXHAUSTED: that of the memory; those of the
// callbacks.
class PackedScan {
 public:
  // Called for inflated bytes, in their order, at most 128 KiB at a time.
  using Out =
      absl::FunctionRef<absl::Status(absl::Span<const std::uint8_t> bytes)>;
  // Called for points, in their order: at least one, the first of offset 0.
  using Found = absl::FunctionRef<absl::Status(const FoundPoint& point)>;

  virtual ~PackedScan() = default;

  // Takes the file's next bytes, and holds back nothing that they inflate to.
  virtual absl::Status Take(absl::Span<const std::uint8_t> packed, Out out,
                            Found found) = 0;
  // To be called when all were taken.
  virtual absl::Status Finish(Found found) = 0;

  virtual std::uint64_t taken() const = 0;     // compressed bytes
  virtual std::uint64_t inflated() const = 0;  // bytes
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_PACKED_SCAN_H_
