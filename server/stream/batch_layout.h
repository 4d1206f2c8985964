#ifndef FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
#define FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/stream/field_type.h"
#include "server/stream/slot_size.h"

namespace forebay::stream {

// The memory of a batch while it is made.
struct BatchMemory {
  std::uint8_t* host = nullptr;
  std::uint8_t* device = nullptr;  // to be copied to GPUs; null: there is none
  // Where the samples of fields that vary begin in their room, field by field,
  // and the end of the last one. Empty: as far apart as the longest is long.
  absl::Span<const std::uint64_t> starts = {};
};

// Says where each sample of a batch goes in its slot: the dataset's fields in
// their order, then "sample_id" as int64. For members on GPUs, all fields of
// numbers but the last, and those that say so, lie in the slot's device part.
// While a batch is in flight, a field that varies has room for the longest
// value at each sample, or for as much as the index says that the sample may
// have (BatchRoom). Complete closes up what was not needed. Behind all
// fields are the desks of the user's code (pipeline/user_code.h), one for each
// sample. Immutable and thread-safe; never blocks. Errors: CheckSize.
class BatchLayout {
 public:
  // RESOURCE_EXHAUSTED: so many samples are larger than any memory.
  static absl::Status CheckSize(const std::vector<FieldType>& types,
                                std::uint32_t batch_size,
                                std::uint64_t desk_bytes = 0,
                                absl::Span<const std::uint64_t> room = {});

  // `batch_size` is that of a full batch, which CheckSize accepted. A smaller
  // last batch uses the same offsets. `desk_bytes`: of one desk; 0: there are
  // none. `room`: BatchRoom::bytes; empty: each sample has room for the
  // longest.
  BatchLayout(const std::vector<FieldType>& types, std::uint32_t batch_size,
              proto::Place place = proto::Place::kHost,
              std::uint64_t desk_bytes = 0,
              absl::Span<const std::uint64_t> room = {});

  const SlotSize& slot_size() const { return slot_size_; }

  // The BatchMemory::starts of a batch whose samples take so much room, sample
  // by sample: the bytes of each field, 0 for one that does not vary.
  std::vector<std::uint64_t> StartsFor(
      absl::Span<const std::uint64_t> bytes) const;

  // Row number k lies at offset + k * bytes_each of its part of the slot, if no
  // room was given.
  struct Rows {
    std::uint64_t offset = 0;
    std::uint64_t bytes_each = 0;
  };
  Rows RowsOf(std::size_t field) const;
  Rows desks() const { return desks_; }

  // The memory of field number `field` of sample number `row` of the batch; of
  // the longest value that it may have, if the field varies.
  absl::Span<std::uint8_t> Room(const BatchMemory& slot, std::size_t field,
                                std::uint32_t row) const;
  // The desk of sample number `row`.
  absl::Span<std::uint8_t> Desk(const BatchMemory& slot,
                                std::uint32_t row) const;
  void SetInteger(const BatchMemory& slot, std::size_t field, std::uint32_t row,
                  std::int64_t value) const;
  // Writes a field that varies; `bytes` are no more than its longest value.
  void SetBytes(const BatchMemory& slot, std::size_t field, std::uint32_t row,
                absl::Span<const std::uint8_t> bytes) const;
  // Says how many bytes of its Room a field that varies has.
  void SetLength(const BatchMemory& slot, std::size_t field, std::uint32_t row,
                 std::uint64_t bytes) const;
  void SetSampleId(const BatchMemory& slot, std::uint32_t row,
                   std::int64_t id) const;

  struct Batch {
    std::uint32_t generation = 0;
    std::uint64_t sample_count = 0;
    std::uint64_t epoch = 0;
    std::uint64_t first_sample = 0;
  };
  // Closes up the fields that vary and writes the header, once all samples are
  // filled. Returns the bytes of the data.
  std::uint64_t Complete(const BatchMemory& slot, const Batch& batch) const;

 private:
  // A field of a full batch whose every value is of the longest.
  struct FieldRange {
    proto::FieldLayout layout;
    std::uint64_t bytes_each = 0;  // one sample's
    // Its number among the fields that vary, if it is one of them.
    std::optional<std::size_t> varying = std::nullopt;
  };

  FieldRange Put(const FieldType& type, std::uint32_t batch_size,
                 proto::Place place, std::uint64_t bytes);
  std::uint64_t BeginOf(const BatchMemory& slot, const FieldRange& range,
                        std::uint64_t row) const;

  std::vector<FieldRange> ranges_;  // the last is "sample_id"
  std::size_t varying_ = 0;         // so many of them vary
  Rows desks_;
  SlotSize slot_size_{.host = proto::kSlotHeaderBytes, .device = 0};
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
