#ifndef FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/length_scan/value_sizes.h"
#include "server/stream/field_type.h"

namespace forebay::stream {

// The sizes of one field's values, as a length scan measured them.
struct MeasuredField {
  std::size_t field = 0;
  // The sizes; null if none were measured.
  std::shared_ptr<const length_scan::ValueSizes> sizes;
};

// Tells the most room that a sample takes in a batch. The bound comes from the
// dataset's index or, for one field, from a length scan.
//
// Immutable and thread-safe. Shares the dataset and the sizes. Never blocks. No
// errors.
class SampleRoom {
 public:
  // `fields` has the types of all fields of the dataset.
  SampleRoom(std::shared_ptr<const dataset::Dataset> dataset,
             std::vector<FieldType> fields, MeasuredField measured = {});

  std::size_t fields() const { return fields_.size(); }
  // Sets `bytes`, by field, to the most bytes that the sample's values take; 0
  // for fields that do not vary.
  void BytesOf(std::uint64_t sample, absl::Span<std::uint64_t> bytes) const;

 private:
  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::vector<FieldType> fields_;
  const MeasuredField measured_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_
