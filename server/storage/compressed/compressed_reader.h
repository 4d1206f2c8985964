#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSED_READER_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSED_READER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/compressed/access_point.h"

namespace forebay::storage::compressed {

// Decompresses a part of a file, from an access point on, as the compressed
// bytes come. The output lies in memory that outlives the reader.
//
// Not thread-safe. The user owns the reader. Never blocks. An error ends the
// reader, and its message is only the reason: DATA_LOSS (the file is damaged,
// or ends too early), RESOURCE_EXHAUSTED (there is no memory for the library's
// state).
class CompressedReader {
 public:
  // The most bytes that one call decompresses. A task that decompresses that
  // many takes ten milliseconds at most, so it does not hold up the tasks of
  // other jobs.
  static constexpr std::uint64_t kMostAtOnce = std::uint64_t{4} << 20;

  virtual ~CompressedReader() = default;

  // Returns the offset of the first byte of the file that a reader from `point`
  // on needs.
  static std::uint64_t BeginOf(const AccessPoint& point) {
    return point.bit / 8;
  }

  // Takes the next compressed bytes, and returns how many it took. Unless the
  // reader is done, the next call must begin with the bytes that were not
  // taken. The span may be empty while the reader is pending.
  virtual absl::StatusOr<std::uint64_t> Take(
      absl::Span<const std::uint8_t> compressed) = 0;
  // Whether the reader can decompress more of the bytes that it has taken.
  virtual bool pending() const = 0;
  // Whether the whole part is decompressed.
  virtual bool done() const = 0;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_COMPRESSED_READER_H_
