#include "server/stream/batch_layout.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/shm_mapping.h"
#include "server/base/check.h"

namespace forebay::stream {
namespace {

using proto::FieldLayout;

constexpr std::uint64_t Aligned(std::uint64_t offset) {
  return (offset + proto::kFieldAlignment - 1) / proto::kFieldAlignment *
         proto::kFieldAlignment;
}

// Returns `bytes` rounded up to whole huge pages, if that wastes at most an
// eighth. A trainer finds its private pages by looking at each page that it has
// mapped. With huge pages it looks at fewer.
constexpr std::uint64_t WholePages(std::uint64_t bytes) {
  constexpr std::uint64_t kHuge = proto::kHugePageBytes;
  const std::uint64_t rounded = (bytes + kHuge - 1) / kHuge * kHuge;
  return rounded - bytes <= bytes / 8 ? rounded : bytes;
}

// The row splits of a field that varies: `sample_count` + 1 offsets. While a
// batch is made, entry i + 1 has the length of sample i in bytes; CloseUp turns
// the lengths into offsets.
class RowSplits {
 public:
  RowSplits(std::uint8_t* slot, const FieldLayout& field)
      : at_(slot + field.row_splits_offset) {}

  std::int64_t Get(std::uint64_t number) const {
    std::int64_t value;
    std::memcpy(&value, at_ + number * sizeof(value), sizeof(value));
    return value;
  }
  void Set(std::uint64_t number, std::int64_t value) {
    std::memcpy(at_ + number * sizeof(value), &value, sizeof(value));
  }

 private:
  std::uint8_t* at_;
};

// Returns the size in bytes of one element along the first axis.
std::uint64_t ElementBytes(const FieldLayout& field) {
  std::uint64_t bytes = proto::SizeOf(field.dtype);
  for (std::uint32_t i = 1; i < field.rank; ++i) bytes *= field.shape[i];
  return bytes;
}

// Moves the samples together, so that nothing lies between them, and writes the
// row splits. `begin_of` returns where a sample's room begins. Samples only
// move towards the front, so one pass suffices.
template <typename BeginOf>
void CloseUp(std::uint8_t* slot, const BeginOf& begin_of,
             std::uint64_t sample_count, FieldLayout& field) {
  const std::uint64_t element_bytes = ElementBytes(field);
  RowSplits splits(slot, field);
  std::uint8_t* const room = slot + field.offset;
  std::uint64_t end = 0;
  splits.Set(0, 0);
  for (std::uint64_t i = 0; i < sample_count; ++i) {
    const std::uint64_t begin = begin_of(i);
    // Workers can write the row splits, so the length is bounded by the room.
    const std::uint64_t length =
        std::min(static_cast<std::uint64_t>(splits.Get(i + 1)),
                 begin_of(i + 1) - begin) /
        element_bytes * element_bytes;
    if (begin != end) std::memmove(room + end, room + begin, length);
    end += length;
    splits.Set(i + 1, static_cast<std::int64_t>(end / element_bytes));
  }
  field.bytes = end;
  field.shape[0] = end / element_bytes;
}

}  // namespace

absl::Status BatchLayout::CheckSize(const std::vector<FieldType>& types,
                                    std::uint32_t batch_size,
                                    std::uint64_t user_buffer_bytes,
                                    absl::Span<const std::uint64_t> room) {
  // No x86-64 process has more address space with 4-level page tables.
  constexpr std::uint64_t kMax = std::uint64_t{1} << 48;
  unsigned __int128 each = user_buffer_bytes;
  unsigned __int128 bytes = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].varies() && !room.empty()) {
      bytes += room[i];
    } else {
      each += types[i].value.bytes;
    }
  }
  if (each * batch_size + bytes <= kMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a batch of ", batch_size, " samples may have more than ",
                   kMax, " bytes"));
}

BatchLayout::BatchLayout(const std::vector<FieldType>& types,
                         std::uint32_t batch_size, proto::Place place,
                         std::uint64_t user_buffer_bytes,
                         absl::Span<const std::uint64_t> room) {
  FOREBAY_CHECK(types.size() < proto::kMaxFields && batch_size > 0);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const FieldType& type = types[i];
    ranges_.push_back(Put(type, batch_size, type.PlaceFor(place),
                          type.varies() && !room.empty()
                              ? room[i]
                              : type.value.bytes * batch_size));
  }
  FieldType id{.name = "sample_id",
               .kind = proto::FieldKind::kSampleId,
               .value = {.dtype = proto::DType::kInt64,
                         .shape = {},
                         .bytes = sizeof(std::int64_t)}};
  ranges_.push_back(
      Put(id, batch_size, proto::Place::kHost, id.value.bytes * batch_size));
  user_buffers_ = {slot_size_.host, user_buffer_bytes};
  slot_size_.host += Aligned(user_buffer_bytes * batch_size);
  slot_size_.host = WholePages(slot_size_.host);
}

// Places a field behind all fields that are in the same part of the slot.
BatchLayout::FieldRange BatchLayout::Put(const FieldType& type,
                                         std::uint32_t batch_size,
                                         proto::Place place,
                                         std::uint64_t bytes) {
  const std::vector<std::uint64_t>& shape = type.value.shape;
  FOREBAY_CHECK(shape.size() + 1 <= proto::kMaxRank &&
                type.name.size() < proto::kMaxFieldName);
  FieldRange range;
  range.bytes_each = type.value.bytes;
  FieldLayout& field = range.layout;
  field = {};
  std::uint64_t& end =
      place == proto::Place::kHost ? slot_size_.host : slot_size_.device;
  type.name.copy(field.name, sizeof(field.name) - 1);
  field.kind = type.kind;
  field.dtype = type.value.dtype;
  field.place = place;
  field.offset = end;
  field.bytes = bytes;
  end += Aligned(field.bytes);
  if (type.varies()) {
    range.varying = varying_++;
    FOREBAY_CHECK(!shape.empty() &&
                  std::find(shape.begin() + 1, shape.end(), 0) == shape.end());
    field.rank = static_cast<std::uint32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), field.shape);
    field.shape[0] *= batch_size;
    field.row_splits_offset = end;
    end += Aligned((batch_size + std::uint64_t{1}) * 8);
  } else {
    field.rank = static_cast<std::uint32_t>(shape.size()) + 1;
    field.shape[0] = batch_size;
    std::copy(shape.begin(), shape.end(), field.shape + 1);
  }
  return range;
}

BatchLayout::Rows BatchLayout::RowsOf(std::size_t field) const {
  return {ranges_[field].layout.offset, ranges_[field].bytes_each};
}

absl::Span<std::uint8_t> BatchLayout::Room(const BatchMemory& slot,
                                           std::size_t field,
                                           std::uint32_t row) const {
  const FieldRange& found = ranges_[field];
  std::uint8_t* const part =
      found.layout.place == proto::Place::kHost ? slot.host : slot.device;
  const std::uint64_t begin = BeginOf(slot, found, row);
  return {part + found.layout.offset + begin,
          BeginOf(slot, found, row + std::uint64_t{1}) - begin};
}

std::uint64_t BatchLayout::BeginOf(const BatchMemory& slot,
                                   const FieldRange& range,
                                   std::uint64_t row) const {
  if (slot.starts.empty() || !range.varying.has_value())
    return row * range.bytes_each;
  const std::size_t stride = slot.starts.size() / varying_;
  return slot.starts[*range.varying * stride + row];
}

std::vector<std::uint64_t> BatchLayout::StartsFor(
    absl::Span<const std::uint64_t> bytes) const {
  const std::size_t fields = ranges_.size() - 1;
  const std::size_t samples = bytes.size() / fields;
  std::vector<std::uint64_t> starts;
  starts.reserve(varying_ * (samples + 1));
  for (std::size_t field = 0; field < fields; ++field) {
    if (!ranges_[field].varying.has_value()) continue;
    std::uint64_t end = 0;
    for (std::size_t row = 0; row < samples; ++row) {
      starts.push_back(end);
      end += bytes[row * fields + field];
    }
    starts.push_back(end);
    FOREBAY_CHECK(end <= ranges_[field].layout.bytes);
  }
  return starts;
}

absl::Span<std::uint8_t> BatchLayout::UserBuffer(const BatchMemory& slot,
                                                 std::uint32_t row) const {
  return {slot.host + user_buffers_.offset + row * user_buffers_.bytes_each,
          user_buffers_.bytes_each};
}

void BatchLayout::SetInteger(const BatchMemory& slot, std::size_t field,
                             std::uint32_t row, std::int64_t value) const {
  const absl::Span<std::uint8_t> room = Room(slot, field, row);
  FOREBAY_CHECK(room.size() == sizeof(value));
  std::memcpy(room.data(), &value, sizeof(value));
}

void BatchLayout::SetBytes(const BatchMemory& slot, std::size_t field,
                           std::uint32_t row,
                           absl::Span<const std::uint8_t> bytes) const {
  const absl::Span<std::uint8_t> room = Room(slot, field, row);
  FOREBAY_CHECK(bytes.size() <= room.size());
  std::copy(bytes.begin(), bytes.end(), room.begin());
  SetLength(slot, field, row, bytes.size());
}

void BatchLayout::SetLength(const BatchMemory& slot, std::size_t field,
                            std::uint32_t row, std::uint64_t bytes) const {
  RowSplits(slot.host, ranges_[field].layout)
      .Set(row + std::uint64_t{1}, static_cast<std::int64_t>(bytes));
}

void BatchLayout::SetSampleId(const BatchMemory& slot, std::uint32_t row,
                              std::int64_t id) const {
  SetInteger(slot, ranges_.size() - 1, row, id);
}

std::uint64_t BatchLayout::Complete(const BatchMemory& slot,
                                    const Batch& batch) const {
  proto::BatchHeader header = {};
  header.magic = proto::kBatchMagic;
  header.version = proto::kLayoutVersion;
  header.generation = batch.generation;
  header.sample_count = batch.sample_count;
  header.epoch = batch.epoch;
  header.first_sample = batch.first_sample;
  std::uint64_t bytes = 0;
  for (const FieldRange& range : ranges_) {
    FieldLayout& field = header.fields[header.field_count++];
    field = range.layout;
    if (field.row_splits_offset != 0) {
      CloseUp(
          slot.host,
          [&](std::uint64_t row) { return BeginOf(slot, range, row); },
          batch.sample_count, field);
    } else {
      field.bytes = range.bytes_each * batch.sample_count;
      field.shape[0] = batch.sample_count;
    }
    bytes += field.bytes;
  }
  std::memcpy(slot.host, &header, sizeof(header));
  return bytes;
}

}  // namespace forebay::stream
