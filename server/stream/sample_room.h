#ifndef FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/stream/field_type.h"
#include "server/survey/value_sizes.h"

namespace forebay::stream {

// The sizes of a field that were measured.
struct MeasuredField {
  std::size_t field = 0;
  std::shared_ptr<const survey::ValueSizes> sizes;  // null: none was
};

// Says how much room a sample takes in a batch at most, as far as the index of
// its dataset knows, and as was measured. Immutable and thread-safe; shares the
// dataset and the sizes. Never blocks; no errors.
class SampleRoom {
 public:
  // `fields` are the dataset's.
  SampleRoom(std::shared_ptr<const dataset::Dataset> dataset,
             std::vector<FieldType> fields, MeasuredField measured = {});

  std::size_t fields() const { return fields_.size(); }
  // Fills `bytes`, one for each field, with the most that the sample's values
  // have. Fields that do not vary have 0.
  void BytesOf(std::uint64_t sample, absl::Span<std::uint64_t> bytes) const;

 private:
  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::vector<FieldType> fields_;
  const MeasuredField measured_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_
