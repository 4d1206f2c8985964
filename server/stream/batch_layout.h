#ifndef FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
#define FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/stream/field_type.h"

namespace forebay::stream {

// Says where each sample of a batch goes in its slot: the dataset's fields in
// their order, then "sample_id" as int64. While a batch is in flight, a field
// that varies has room for the longest value at each sample; Complete closes up
// what was not needed. Immutable and thread-safe; never blocks. Errors:
// CheckSize.
class BatchLayout {
 public:
  // RESOURCE_EXHAUSTED: so many samples are larger than any memory.
  static absl::Status CheckSize(const std::vector<FieldType>& types,
                                std::uint32_t batch_size);

  // `batch_size` is that of a full batch, which CheckSize accepted. A smaller
  // last batch uses the same offsets.
  BatchLayout(const std::vector<FieldType>& types, std::uint32_t batch_size);

  std::uint64_t slot_bytes() const { return slot_bytes_; }

  // The memory of field number `field`, which does not vary, of sample number
  // `place` of the batch.
  absl::Span<std::uint8_t> Room(std::uint8_t* slot, std::size_t field,
                                std::uint32_t place) const;
  // Writes all elements of an array.
  void SetElements(std::uint8_t* slot, std::size_t field, std::uint32_t place,
                   absl::Span<const std::uint8_t> elements) const;
  void SetInteger(std::uint8_t* slot, std::size_t field, std::uint32_t place,
                  std::int64_t value) const;
  // Writes a field that varies; `bytes` are no more than its longest value.
  void SetBytes(std::uint8_t* slot, std::size_t field, std::uint32_t place,
                absl::Span<const std::uint8_t> bytes) const;
  void SetSampleId(std::uint8_t* slot, std::uint32_t place,
                   std::int64_t id) const;

  struct Batch {
    std::uint32_t generation = 0;
    std::uint64_t sample_count = 0;
    std::uint64_t epoch = 0;
    std::uint64_t first_sample = 0;
  };
  // Closes up the fields that vary and writes the header, once all samples are
  // filled. Returns the bytes of the data.
  std::uint64_t Complete(std::uint8_t* slot, const Batch& batch) const;

 private:
  // A field of a full batch whose every value is of the longest.
  struct FieldRange {
    proto::FieldLayout layout;
    std::uint64_t bytes_each = 0;  // one sample's
  };

  FieldRange Put(const FieldType& type, std::uint32_t batch_size);

  std::vector<FieldRange> places_;  // the last is "sample_id"
  std::uint64_t slot_bytes_ = proto::kSlotHeaderBytes;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
