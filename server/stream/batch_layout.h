#ifndef FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
#define FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/pipeline/pipeline.h"

namespace forebay::stream {

// Where each sample of a batch goes in its slot: field "image" as the pipeline
// makes it, then "label" and "sample_id" as int64. Immutable and thread-safe;
// never blocks; no errors.
class BatchLayout {
 public:
  // `batch_size` is that of a full batch: a last, smaller one uses the same
  // offsets.
  BatchLayout(const pipeline::TensorType& image, std::uint32_t batch_size);

  std::uint64_t slot_bytes() const { return slot_bytes_; }

  // Where sample number `place` of the batch goes.
  absl::Span<std::uint8_t> Image(std::uint8_t* slot,
                                 std::uint32_t place) const {
    return {slot + image_.offset + place * image_bytes_, image_bytes_};
  }
  void SetLabel(std::uint8_t* slot, std::uint32_t place,
                std::int64_t label) const;
  void SetSampleId(std::uint8_t* slot, std::uint32_t place,
                   std::int64_t id) const;

  struct Batch {
    std::uint32_t generation = 0;
    std::uint64_t sample_count = 0;
    std::uint64_t epoch = 0;
    std::uint64_t first_sample = 0;
  };
  void WriteHeader(std::uint8_t* slot, const Batch& batch) const;
  // Bytes of the data of a batch of that many samples.
  std::uint64_t DataBytes(std::uint64_t sample_count) const;

 private:
  std::uint64_t image_bytes_;  // of one sample
  proto::FieldLayout image_;
  proto::FieldLayout label_;
  proto::FieldLayout sample_id_;
  std::uint64_t slot_bytes_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
