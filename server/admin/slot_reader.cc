#include "server/admin/slot_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/shm_layout.h"
#include "server/base/status.h"

namespace forebay::admin {
namespace {

// Returns the error for a header that has the fault `what`.
absl::Status Torn(absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("the batch cannot be shown: its header has ", what));
}

// Returns the name that messages have for a kind; null if there is no such
// kind.
const char* KindName(proto::FieldKind kind) {
  switch (kind) {
    case proto::FieldKind::kImage:
      return "image";
    case proto::FieldKind::kLabel:
      return "label";
    case proto::FieldKind::kSampleId:
      return "sample_id";
    case proto::FieldKind::kText:
      return "text";
    case proto::FieldKind::kJson:
      return "json";
    case proto::FieldKind::kBytes:
      return "bytes";
    case proto::FieldKind::kArray:
      return "array";
    case proto::FieldKind::kAudio:
      return "audio";
  }
  return nullptr;
}

// Describes one field. Checks every number of `field` before using it.
// `data_bytes` bytes follow the header.
absl::Status DescribeField(const proto::FieldLayout& field,
                           std::uint64_t data_bytes,
                           proto::PeekChunk::Field* out) {
  const auto name_end =
      std::find(field.name, field.name + proto::kMaxFieldName, '\0');
  if (name_end == field.name + proto::kMaxFieldName) {
    return Torn("a field name without an end");
  }
  const char* kind = KindName(field.kind);
  if (kind == nullptr) return Torn("a field of unknown kind");
  const std::uint64_t element = proto::SizeOf(field.dtype);
  if (element == 0) return Torn("a field of unknown type");
  if (field.rank == 0 || field.rank > proto::kMaxRank) {
    return Torn("a field of impossible rank");
  }
  std::uint64_t bytes = element;
  for (std::uint32_t i = 0; i < field.rank; ++i) {
    if (__builtin_mul_overflow(bytes, field.shape[i], &bytes)) {
      return Torn("a field of impossible shape");
    }
    out->add_shape(field.shape[i]);
  }
  if (bytes != field.bytes) return Torn("a field whose shape and size differ");
  if (field.offset < proto::kSlotHeaderBytes ||
      field.offset - proto::kSlotHeaderBytes > data_bytes ||
      bytes > data_bytes - (field.offset - proto::kSlotHeaderBytes)) {
    return Torn("a field that lies outside of the slot");
  }
  out->set_name(std::string(field.name, name_end));
  out->set_kind(kind);
  out->set_dtype(static_cast<proto::DataType>(field.dtype));
  out->set_offset(field.offset - proto::kSlotHeaderBytes);
  out->set_bytes(bytes);
  return absl::OkStatus();
}

}  // namespace

// The copy of the header is checked like untrusted input. The slot may be
// refilled while it is copied, so the copy's parts need not belong together.
absl::Status DescribeSlot(absl::Span<const std::uint8_t> slot,
                          proto::PeekChunk* chunk) {
  if (slot.size() < proto::kSlotHeaderBytes) return Torn("too few bytes");
  proto::BatchHeader header;
  std::memcpy(&header, slot.data(), sizeof(header));
  if (header.magic != proto::kBatchMagic) return Torn("a wrong mark");
  if (header.version != proto::kLayoutVersion) {
    return Torn("another version");
  }
  if (header.field_count > proto::kMaxFields) return Torn("too many fields");
  std::uint64_t end = 0;
  for (std::uint32_t i = 0; i < header.field_count; ++i) {
    proto::PeekChunk::Field* field = chunk->add_fields();
    FOREBAY_RETURN_IF_ERROR(DescribeField(
        header.fields[i], slot.size() - proto::kSlotHeaderBytes, field));
    end = std::max(end, field->offset() + field->bytes());
  }
  chunk->set_total_bytes(end);
  return absl::OkStatus();
}

}  // namespace forebay::admin
