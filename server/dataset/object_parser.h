#ifndef FOREBAY_SERVER_DATASET_OBJECT_PARSER_H_
#define FOREBAY_SERVER_DATASET_OBJECT_PARSER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::dataset {

// A range of an object's bytes.
struct ByteRange {
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes
};

// The size of an object whose end is not known before it is read, such as a
// decompressed file. It is larger than any real object.
inline constexpr std::uint64_t kUnknownSize = std::uint64_t{1} << 62;

// Finds the samples of one object, such as a file. The parser reads nothing
// itself: it says which bytes it needs, and the caller passes them in.
//
// Used by one thread. The caller owns it. Never blocks. Errors end the parsing
// and name the object; only RESOURCE_EXHAUSTED, from the memory that counts the
// samples, does not name it.
class ObjectParser {
 public:
  virtual ~ObjectParser() = default;

  // Returns the range to read next: at least one byte, within the object.
  // Returns nothing when all samples are found.
  virtual std::optional<ByteRange> next_read() const = 0;
  // Parses the bytes of next_read().
  virtual absl::Status Take(absl::Span<const std::uint8_t> bytes) = 0;
  // Tells the object's size to a parser that began with kUnknownSize, once the
  // object's end is reached. Afterwards next_read() returns only ranges within
  // `size` bytes. If a read reached beyond the end, it is repeated up to the
  // end. Parsers that are only made for objects of known size do not override
  // EndAt.
  virtual absl::Status EndAt(std::uint64_t size);
};

// The minimum and maximum length of a read, in bytes. A parser that must see
// more bytes at once sets a larger minimum. Reading small samples is cheaper
// than skipping them. So the length doubles if the parser skips at most as many
// bytes as the last read had. Otherwise the length halves. A source with a long
// latency, such as a network, needs a larger minimum.
struct ReadSizes {
  std::uint64_t min = 4096;
  std::uint64_t max = std::uint64_t{1} << 18;
};

// Chooses the length of each read of one object.
//
// Used by one thread. Owns nothing. Never blocks. Has no errors.
class ReadLength {
 public:
  explicit ReadLength(const ReadSizes& sizes)
      : sizes_(sizes), length_(sizes.min) {}

  // Returns a range to read that covers `wanted`, in an object of `size` bytes.
  ByteRange For(const ByteRange& wanted, std::uint64_t size) const;
  // Adapts the length to the distance between two ranges: `last` was read last,
  // and `wanted` is needed next.
  void Adapt(const ByteRange& last, const ByteRange& wanted);

 private:
  ReadSizes sizes_;
  std::uint64_t length_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_PARSER_H_
