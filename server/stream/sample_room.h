#ifndef FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/stream/field_type.h"

namespace forebay::stream {

// Says how much room a sample takes in a batch at most, as far as the index of
// its dataset knows. Immutable and thread-safe; shares the dataset. Never
// blocks; no errors.
class SampleRoom {
 public:
  // `fields` are the dataset's.
  SampleRoom(std::shared_ptr<const dataset::Dataset> dataset,
             std::vector<FieldType> fields);

  std::size_t fields() const { return fields_.size(); }
  // Fills `bytes`, one for each field, with the most that the sample's values
  // have. Fields that do not vary have 0.
  void BytesOf(std::uint64_t sample, absl::Span<std::uint64_t> bytes) const;

 private:
  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::vector<FieldType> fields_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_
