#ifndef FOREBAY_SERVER_STREAM_ROOM_SURVEY_H_
#define FOREBAY_SERVER_STREAM_ROOM_SURVEY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "server/stream/field_type.h"
#include "server/stream/size_histogram.h"

namespace forebay::stream {

// Surveys the samples of a dataset, to find how much room a batch needs. Not
// thread-safe. Owns what it counts. Never blocks, but takes some 0.1 µs for
// each sample. No errors.
class RoomSurvey {
 public:
  explicit RoomSurvey(const std::vector<FieldType>& fields);

  // Adds a sample whose fields take so many bytes at most, and whose length is
  // `length`; 0: it has none.
  void Add(absl::Span<const std::uint64_t> bytes, std::uint64_t length);

  const SizeHistogram& lengths() const { return lengths_; }
  // Returns the bytes of each field for any batch of so many samples, all
  // different, but for one that comes twice perhaps if `repeats`. The sum of
  // their lengths is no more than `most`, unless that is 0.
  std::vector<std::uint64_t> BytesFor(std::uint32_t samples, std::uint64_t most,
                                      bool repeats) const;

 private:
  struct Sizes {
    std::uint64_t each = 0;     // bytes that an element takes
    std::uint64_t longest = 0;  // bytes of the longest value
    // The most that a value has beyond `each` of its sample's length.
    std::uint64_t beyond = 0;
    // The most bytes that a value has for each unit of its sample's length.
    double most_each = 0;
    SizeHistogram bytes;
  };

  std::vector<std::optional<Sizes>> fields_;  // nullopt: does not vary
  SizeHistogram lengths_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_ROOM_SURVEY_H_
