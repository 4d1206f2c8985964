#ifndef FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/sampler/sample_lengths.h"
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

// The lengths of samples, which are those of one field that varies: elements
// along the first axis of an array, bytes of anything else. If only the
// sample's own bytes say how long its field is, the length of a sample is how
// many these are. Shares the dataset. As SampleLengths says.
class FieldLengths final : public sampler::SampleLengths {
 public:
  // `type` is of field number `field`.
  FieldLengths(std::shared_ptr<const dataset::Dataset> dataset,
               std::size_t field, FieldType type);

  // At least 1, so that a batch has no more samples than elements.
  std::uint64_t LengthOf(std::uint64_t sample) const override;
  // Whether lengths are just those of the field.
  bool are_exact() const { return !dataset_->is_self_describing(); }

 private:
  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::size_t field_;
  const FieldType type_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_ROOM_H_
