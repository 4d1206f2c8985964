#ifndef FOREBAY_SERVER_STORAGE_INFLATED_PACKED_READER_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_PACKED_READER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/inflated/access_point.h"

namespace forebay::storage::inflated {

// Inflates a part of a file, from an access point on, as its bytes come, into
// memory that outlives the reader.
//
// Not thread-safe. Never blocks. Errors end it, and give the reason alone:
// DATA_LOSS: the file is damaged, or ends too early; RESOURCE_EXHAUSTED: there
// is no memory for the library's state.
class PackedReader {
 public:
  // Bytes that one call makes at most.
  static constexpr std::uint64_t kMostAtOnce = std::uint64_t{4} << 20;

  virtual ~PackedReader() = default;

  // The first byte of the file that a reader from `point` on wants to see.
  static std::uint64_t BeginOf(const AccessPoint& point) {
    return point.bit / 8;
  }

  // Takes the next bytes. Returns how many of them; the others are to be given
  // again unless it is done. There may be none while it is pending.
  virtual absl::StatusOr<std::uint64_t> Take(
      absl::Span<const std::uint8_t> packed) = 0;
  // Whether it can make more of the bytes that it took.
  virtual bool pending() const = 0;
  virtual bool done() const = 0;
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_PACKED_READER_H_
