#ifndef FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
#define FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/stream/field_type.h"

namespace forebay::stream {

// Where each sample of a batch goes in its slot: the dataset's fields in their
// order, then "sample_id" as int64. While a batch is made, a field that varies
// has for each sample as much room as the longest needs; what was not needed is
// closed up at the end. Immutable and thread-safe; never blocks. Errors:
// CheckSize.
class BatchLayout {
 public:
  // RESOURCE_EXHAUSTED: so many samples are larger than any memory, and than
  // what can be reckoned with.
  static absl::Status CheckSize(const std::vector<FieldType>& types,
                                std::uint32_t batch_size);

  // `batch_size` is that of a full batch, whose size was checked: a last,
  // smaller one uses the same offsets.
  BatchLayout(const std::vector<FieldType>& types, std::uint32_t batch_size);

  std::uint64_t slot_bytes() const { return slot_bytes_; }

  // Where sample number `place` of the batch has field number `field`, which
  // does not vary.
  absl::Span<std::uint8_t> Room(std::uint8_t* slot, std::size_t field,
                                std::uint32_t place) const;
  // All elements of an array.
  void SetElements(std::uint8_t* slot, std::size_t field, std::uint32_t place,
                   absl::Span<const std::uint8_t> elements) const;
  void SetInteger(std::uint8_t* slot, std::size_t field, std::uint32_t place,
                  std::int64_t value) const;
  // Of a field that varies; `bytes` are no more than its longest.
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
  // Once all samples are filled: closes up what varies, and writes the header.
  // Returns the bytes of the data.
  std::uint64_t Complete(std::uint8_t* slot, const Batch& batch) const;

 private:
  // A field as a full batch has it, every sample of the longest.
  struct FieldRange {
    proto::FieldLayout layout;
    std::uint64_t bytes_each = 0;  // one sample's
  };

  FieldRange Put(const FieldType& type, std::uint32_t batch_size);

  std::vector<FieldRange> places_;  // the last: the samples' numbers
  std::uint64_t slot_bytes_ = proto::kSlotHeaderBytes;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
