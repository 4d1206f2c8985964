#ifndef FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_
#define FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/dataset/dataset.h"
#include "server/sampler/sample_lengths.h"
#include "server/stream/field_type.h"

namespace forebay::stream {

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
  bool are_exact() const {
    return !dataset_->is_self_describing() && !type_.is_clip();
  }

 private:
  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::size_t field_;
  const FieldType type_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_FIELD_LENGTHS_H_
