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

// The memory in which a batch is made.
struct BatchMemory {
  // The slot's part on the host.
  std::uint8_t* host = nullptr;
  // The staging memory, to be copied to GPUs; null if there is none.
  std::uint8_t* device = nullptr;
  // For each field that varies: the offsets, in the field's room, at which its
  // samples begin, and the offset at which the last one ends. If empty, every
  // sample has room for the longest value.
  absl::Span<const std::uint64_t> starts = {};
};

// The place of each sample of a batch in its slot. The dataset's fields lie in
// their order, and then "sample_id" as int64. For members on GPUs, fields of a
// fixed size lie in the slot's device part. "sample_id", fields that vary and
// fields with `on_host` stay on the host.
//
// While a batch is in flight, each sample has room for the longest value of a
// field that varies. If the stream has a BatchRoom, each sample has only the
// room that the index says it may need. At the end, Complete closes the gaps
// between the values. Behind all fields lie the user-code buffers
// (pipeline/user_code.h), one for each sample.
//
// Immutable and thread-safe. Owns no batch memory. Never blocks. Errors:
// CheckSize.
class BatchLayout {
 public:
  // Checks that a slot for `batch_size` samples of these types fits into an
  // address space. RESOURCE_EXHAUSTED: the slot does not fit.
  static absl::Status CheckSize(const std::vector<FieldType>& types,
                                std::uint32_t batch_size,
                                std::uint64_t user_buffer_bytes = 0,
                                absl::Span<const std::uint64_t> room = {});

  // `batch_size` is the size of a full batch, which CheckSize has accepted; a
  // smaller last batch uses the same offsets. `user_buffer_bytes` is the size
  // of one user-code buffer; 0 means that there are none. `room` is
  // BatchRoom::bytes; if it is empty, each sample has room for the longest
  // value.
  BatchLayout(const std::vector<FieldType>& types, std::uint32_t batch_size,
              proto::Place place = proto::Place::kHost,
              std::uint64_t user_buffer_bytes = 0,
              absl::Span<const std::uint64_t> room = {});

  const SlotSize& slot_size() const { return slot_size_; }

  // Returns the offsets for BatchMemory::starts. `bytes` holds, sample after
  // sample, the bytes of room for each field; 0 for a field that does not vary.
  std::vector<std::uint64_t> StartsFor(
      absl::Span<const std::uint64_t> bytes) const;

  // Rows of equal size: row k begins `offset + k * bytes_each` bytes into its
  // part of the slot. For a field that varies, this is true only in a layout
  // without `room`.
  struct Rows {
    std::uint64_t offset = 0;
    std::uint64_t bytes_each = 0;
  };
  Rows RowsOf(std::size_t field) const;
  Rows user_buffers() const { return user_buffers_; }

  // Returns the memory for field number `field` of row `row`. If the field
  // varies, that memory has room for the longest value that the row may have.
  absl::Span<std::uint8_t> Room(const BatchMemory& slot, std::size_t field,
                                std::uint32_t row) const;
  // Returns the user-code buffer of row `row`.
  absl::Span<std::uint8_t> UserBuffer(const BatchMemory& slot,
                                      std::uint32_t row) const;
  // Writes the value of an integer field.
  void SetInteger(const BatchMemory& slot, std::size_t field, std::uint32_t row,
                  std::int64_t value) const;
  // Writes a value of a field that varies. `bytes` must fit in the value's
  // Room.
  void SetBytes(const BatchMemory& slot, std::size_t field, std::uint32_t row,
                absl::Span<const std::uint8_t> bytes) const;
  // Tells how many bytes were written into the Room of a field that varies.
  void SetLength(const BatchMemory& slot, std::size_t field, std::uint32_t row,
                 std::uint64_t bytes) const;
  // Writes the row's "sample_id".
  void SetSampleId(const BatchMemory& slot, std::uint32_t row,
                   std::int64_t id) const;

  // The batch's part of the slot's header.
  struct Batch {
    std::uint32_t generation = 0;
    std::uint64_t sample_count = 0;
    std::uint64_t epoch = 0;
    std::uint64_t first_sample = 0;
  };
  // Closes the gaps between the values of each field that varies, and writes
  // the header. All samples must be filled. Returns the number of bytes of
  // data.
  std::uint64_t Complete(const BatchMemory& slot, const Batch& batch) const;

 private:
  // The place of a field in a full batch.
  struct FieldRange {
    proto::FieldLayout layout;
    // The bytes of one row; of the longest value, if the field varies.
    std::uint64_t bytes_each = 0;
    // The field's number among the fields that vary; nullopt if it does not
    // vary.
    std::optional<std::size_t> varying = std::nullopt;
  };

  FieldRange Put(const FieldType& type, std::uint32_t batch_size,
                 proto::Place place, std::uint64_t bytes);
  // Returns the number of bytes from a field's first byte to a row's first
  // byte.
  std::uint64_t BeginOf(const BatchMemory& slot, const FieldRange& range,
                        std::uint64_t row) const;

  // The fields in order; the last is "sample_id".
  std::vector<FieldRange> ranges_;
  // The number of fields that vary.
  std::size_t varying_ = 0;
  Rows user_buffers_;
  SlotSize slot_size_{.host = proto::kSlotHeaderBytes, .device = 0};
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_LAYOUT_H_
