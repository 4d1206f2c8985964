#include "client/core/batch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "client/core/subscription.h"

forebay_batch::~forebay_batch() {
  if (copy_bytes > 0) munmap(data, copy_bytes);
}

namespace forebay::client::core {
namespace {

Status Malformed(const char* what) {
  return Status(FOREBAY_INTERNAL,
                std::string("the daemon published a malformed batch: ") + what);
}

// Returns the size in bytes of a field's row splits; 0 if the field has none.
std::uint64_t SplitBytes(const proto::FieldLayout& field,
                         const proto::BatchHeader& header) {
  return field.row_splits_offset == 0
             ? 0
             : (header.sample_count + 1) * sizeof(std::int64_t);
}

// The range of bytes in which fields may lie, in one part of a slot.
struct Room {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool Has(std::uint64_t offset, std::uint64_t bytes) const {
    return offset >= begin && offset % proto::kFieldAlignment == 0 &&
           offset <= end && bytes <= end - offset;
  }
};

struct Rooms {
  Room host;
  Room device;
};

// Checks that a field has as many bytes as its type and shape say, and that
// these bytes lie in the part of the slot named by `field.place`. After this
// check, reading the whole field causes no fault, even if the daemon has
// another version or misbehaves.
Status CheckField(const proto::FieldLayout& field,
                  const proto::BatchHeader& header, const Rooms& rooms) {
  if (memchr(field.name, '\0', sizeof field.name) == nullptr)
    return Malformed("a field's name has no end");
  if (field.rank < 1 || field.rank > proto::kMaxRank)
    return Malformed("a field's rank");
  std::uint64_t bytes = proto::SizeOf(field.dtype);
  if (bytes == 0) return Malformed("a field's type");
  for (std::uint32_t i = 0; i < field.rank; ++i) {
    if (__builtin_mul_overflow(bytes, field.shape[i], &bytes))
      return Malformed("a field's shape");
  }
  const bool on_device = field.place == proto::Place::kDevice;
  if (on_device ? rooms.device.end == 0 : field.place != proto::Place::kHost)
    return Malformed("a field's place");
  const Room& room = on_device ? rooms.device : rooms.host;
  if (bytes != field.bytes || !room.Has(field.offset, field.bytes))
    return Malformed("a field's offset");
  if (field.row_splits_offset == 0) {
    if (field.shape[0] != header.sample_count)
      return Malformed("a field's number of samples");
  } else if (on_device || !rooms.host.Has(field.row_splits_offset,
                                          SplitBytes(field, header))) {
    return Malformed("a field's row splits");
  }
  return Status();
}

}  // namespace

Status ReadHeader(const shm::SlotMapping& slot, std::uint64_t device_bytes,
                  const proto::ReadyEntry& entry, proto::BatchHeader* header) {
  memcpy(header, slot.data(), offsetof(proto::BatchHeader, fields));
  if (header->magic != proto::kBatchMagic ||
      header->version != proto::kLayoutVersion)
    return Malformed("no batch of this version");
  if (header->generation != entry.generation ||
      header->sample_count != entry.sample_count)
    return Malformed("not the one announced");
  if (header->field_count > proto::kMaxFields)
    return Malformed("too many fields");
  if (header->sample_count > slot.bytes()) return Malformed("its size");
  // Only the fields in use are copied: each further cache line would have to be
  // fetched from the core that wrote it.
  memcpy(header->fields, slot.data() + offsetof(proto::BatchHeader, fields),
         header->field_count * sizeof header->fields[0]);
  const Rooms rooms = {
      .host = {.begin = proto::kSlotHeaderBytes, .end = slot.bytes()},
      .device = {.begin = 0, .end = device_bytes}};
  for (std::uint32_t i = 0; i < header->field_count; ++i)
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        CheckField(header->fields[i], *header, rooms));
  return Status();
}

Status SampleIds(const forebay_batch& batch, const std::int64_t** ids) {
  for (std::uint32_t i = 0; i < batch.header.field_count; ++i) {
    const proto::FieldLayout& field = batch.header.fields[i];
    if (field.kind != proto::FieldKind::kSampleId) continue;
    if (field.place != proto::Place::kHost ||
        field.dtype != proto::DType::kInt64 ||
        field.bytes != batch.header.sample_count * sizeof **ids)
      return Malformed("its samples' numbers");
    *ids = reinterpret_cast<const std::int64_t*>(batch.data + field.offset);
    return Status();
  }
  return Malformed("its samples' numbers are missing");
}

Status CopyBatch(const forebay_batch& batch,
                 std::unique_ptr<forebay_batch>* out) {
  // Fields may lie in any order and with gaps. The copy keeps their offsets,
  // and ends where the last field ends.
  std::uint64_t end = proto::kSlotHeaderBytes;
  for (std::uint32_t i = 0; i < batch.header.field_count; ++i) {
    const proto::FieldLayout& field = batch.header.fields[i];
    end = std::max({end, field.offset + field.bytes,
                    field.row_splits_offset + SplitBytes(field, batch.header)});
  }
  void* const memory = mmap(nullptr, end, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED)
    return Status(FOREBAY_RESOURCE_EXHAUSTED,
                  "no memory to copy a batch to: release some of those held");
  memcpy(memory, batch.data, end);
  auto copy = std::make_unique<forebay_batch>();
  copy->subscription = batch.subscription;
  copy->data = static_cast<std::uint8_t*>(memory);
  copy->copy_bytes = end;
  copy->header = batch.header;
  *out = std::move(copy);
  return Status();
}

}  // namespace forebay::client::core
