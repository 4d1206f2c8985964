#ifndef FOREBAY_SERVER_STREAM_ROOM_SCAN_H_
#define FOREBAY_SERVER_STREAM_ROOM_SCAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "server/stream/field_type.h"
#include "server/stream/size_histogram.h"

namespace forebay::stream {

// Scans the samples of a dataset, to find how much room a batch needs.
//
// Not thread-safe. Owns its histograms. Never waits, but takes some 0.1 µs for
// each sample. No errors.
class RoomScan {
 public:
  explicit RoomScan(const std::vector<FieldType>& fields);

  // Adds a sample. `bytes` has the most bytes that each of its fields takes.
  // `length` is the sample's length; 0 if it has no length.
  void Add(absl::Span<const std::uint64_t> bytes, std::uint64_t length);

  const SizeHistogram& lengths() const { return lengths_; }
  // Returns, for each field, the bytes that suffice for any batch of `samples`
  // samples. The samples are all different; if `repeats` is true, one of them
  // may come twice. The sum of their lengths is at most `most`; 0 means no
  // limit.
  std::vector<std::uint64_t> BytesFor(std::uint32_t samples, std::uint64_t most,
                                      bool repeats) const;

 private:
  // The sizes of one field that varies.
  struct Sizes {
    // The bytes of one element.
    std::uint64_t each = 0;
    // The bytes of the longest value.
    std::uint64_t longest = 0;
    // The most bytes of a value beyond `each` times its sample's length.
    std::uint64_t beyond = 0;
    // The most bytes of a value for each unit of its sample's length.
    double most_each = 0;
    SizeHistogram bytes;
  };

  // The sizes by field; nullopt for a field that does not vary.
  std::vector<std::optional<Sizes>> fields_;
  SizeHistogram lengths_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_ROOM_SCAN_H_
