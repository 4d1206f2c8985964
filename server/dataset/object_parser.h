#ifndef FOREBAY_SERVER_DATASET_OBJECT_PARSER_H_
#define FOREBAY_SERVER_DATASET_OBJECT_PARSER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::dataset {

struct ByteRange {
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes
};

// The size of an object that is known only when its end is seen.
inline constexpr std::uint64_t kUnknownSize = std::uint64_t{1} << 62;

// Finds the samples of one object, such as a file. It reads nothing itself: it
// says what to read, and is given the bytes.
//
// Used by one thread. The caller owns it. Never blocks. Errors end it and name
// the object, but for RESOURCE_EXHAUSTED, that of the memory in which it counts
// what it finds.
class ObjectParser {
 public:
  virtual ~ObjectParser() = default;

  // Returns what to read next, within the object, and at least a byte; nothing
  // if all samples were found.
  virtual std::optional<ByteRange> next_read() const = 0;
  // Takes the bytes of next_read().
  virtual absl::Status Take(absl::Span<const std::uint8_t> bytes) = 0;
  // To be called if there is no more of an object of kUnknownSize: it has
  // `size` bytes. What is read next lies within them, or was given in part.
  // Parsers that are made for objects of known size alone have no such end.
  virtual absl::Status EndAt(std::uint64_t size);
};

// How much to read at a time, in bytes; at least what the parser must see at
// once. A read is twice as long as the last one if what the parser wants lies
// no further off than that was long: to read small samples is cheaper than to
// step over them. It is half as long if that lies further off. The longer a
// read takes to begin, as over a network, the larger the minimum should be.
struct ReadSizes {
  std::uint64_t min = 4096;
  std::uint64_t max = std::uint64_t{1} << 18;
};

// The length of an object's reads, in their order. Used by one thread; never
// blocks; has no errors.
class ReadLength {
 public:
  explicit ReadLength(const ReadSizes& sizes)
      : sizes_(sizes), length_(sizes.min) {}

  // Returns the read for what is wanted of an object of `size` bytes.
  ByteRange For(const ByteRange& wanted, std::uint64_t size) const;
  // Adapts to what is wanted after the read `last`.
  void Adapt(const ByteRange& last, const ByteRange& wanted);

 private:
  ReadSizes sizes_;
  std::uint64_t length_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OBJECT_PARSER_H_
