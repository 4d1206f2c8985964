#include "client/wire/array_records.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "proto/raw_image.h"
#include "proto/shm_layout.h"

namespace forebay::client::wire {
namespace {

// The largest size of a field, far more than any host's memory. The sum of 15
// such sizes does not overflow.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 56;

Status Refuse(const forebay_array& array, const char* reason) {
  return Status(FOREBAY_INVALID_ARGUMENT,
                std::string("field ") + array.name + ": " + reason);
}

Status CheckKind(const forebay_array& array) {
  switch (array.kind) {
    case FOREBAY_IMAGE:
      if (array.dtype != FOREBAY_UINT8 || array.rank < 3 || array.rank > 4 ||
          (array.rank == 4 && array.shape[3] != 1 && array.shape[3] != 3))
        return Refuse(array,
                      "images are uint8, of samples x height x width, or that "
                      "x 1 or 3 channels");
      return Status();
    case FOREBAY_LABEL:
      if (array.dtype != FOREBAY_INT64 || array.rank != 1)
        return Refuse(array, "labels are int64, one a sample");
      return Status();
    case FOREBAY_ARRAY:
      return Status();
    default:
      return Refuse(array, "is not an image, label or array");
  }
}

// Checks one array. An image without channels becomes one with 1 channel, so
// that all images are height x width x channels.
Status DescribeField(const forebay_array& array, RecordField* field) {
  if (array.name == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "the name of a field is null");
  const std::uint64_t element_bytes =
      proto::SizeOf(static_cast<proto::DType>(array.dtype));
  if (element_bytes == 0 || array.rank < 1 || array.rank > proto::kMaxRank)
    return Refuse(array, "has a type that batches cannot have");
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckKind(array));
  field->array = &array;
  field->shape.assign(array.shape + 1, array.shape + array.rank);
  if (array.kind == FOREBAY_IMAGE && array.rank == 3) field->shape.push_back(1);
  field->bytes = element_bytes;
  for (const std::uint64_t extent : field->shape) {
    if (__builtin_mul_overflow(field->bytes, extent, &field->bytes) ||
        field->bytes > kMaxBytes)
      return Refuse(array, "is too large");
  }
  return Status();
}

// Returns the size of one sample in bytes. A sample is its fields, one after
// the other; each image follows its own header.
std::uint64_t RecordBytes(const Records& records) {
  std::uint64_t bytes = 0;
  for (const RecordField& field : records.fields) {
    bytes += field.bytes;
    if (field.array->kind == FOREBAY_IMAGE)
      bytes += sizeof(proto::RawImageHeader);
  }
  return bytes;
}

// Writes the samples to `out`, which has room for all of them. The arrays hold
// the data field by field, and `out` gets them sample by sample, so that the
// daemon reads a sample in one piece.
void Fill(const Records& records, std::uint8_t* out) {
  for (std::uint64_t sample = 0; sample < records.samples; ++sample) {
    for (const RecordField& field : records.fields) {
      if (field.array->kind == FOREBAY_IMAGE) {
        const proto::RawImageHeader header = {
            .magic = proto::kRawImageMagic,
            .width = static_cast<std::uint32_t>(field.shape[1]),
            .height = static_cast<std::uint32_t>(field.shape[0]),
            .channels = static_cast<std::uint32_t>(field.shape[2])};
        memcpy(out, &header, sizeof header);
        out += sizeof header;
      }
      if (field.bytes == 0) continue;
      memcpy(out,
             static_cast<const std::uint8_t*>(field.array->data) +
                 sample * field.bytes,
             field.bytes);
      out += field.bytes;
    }
  }
}

}  // namespace

Status DescribeRecords(const forebay_array* arrays, size_t count,
                       Records* out) {
  *out = Records();
  if (count == 0)
    return Status(FOREBAY_INVALID_ARGUMENT, "a dataset needs a field");
  for (size_t i = 0; i < count; ++i) {
    RecordField field;
    FOREBAY_CLIENT_RETURN_IF_ERROR(DescribeField(arrays[i], &field));
    if (i > 0 && arrays[i].shape[0] != out->samples)
      return Refuse(arrays[i], "has another number of samples than the first");
    out->samples = arrays[i].shape[0];
    out->fields.push_back(std::move(field));
  }
  std::uint64_t bytes;
  if (__builtin_mul_overflow(RecordBytes(*out), out->samples, &bytes) ||
      bytes > kMaxBytes)
    return Status(FOREBAY_INVALID_ARGUMENT, "the arrays are too large");
  return Status();
}

Status WriteRecords(const Records& records, proto::Fd* out) {
  for (const RecordField& field : records.fields) {
    if (field.array->data == nullptr && records.samples > 0 && field.bytes > 0)
      return Refuse(*field.array, "has no data");
  }
  proto::Fd fd(memfd_create("forebay-arrays", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::uint64_t bytes = RecordBytes(records) * records.samples;
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return ErrnoStatus(errno, "cannot make shared memory");
  if (bytes > 0) {
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
      return ErrnoStatus(errno, "cannot map shared memory");
    Fill(records, static_cast<std::uint8_t*>(memory));
    // F_SEAL_WRITE fails while a writable mapping exists.
    munmap(memory, bytes);
  }
  if (fcntl(fd.get(), F_ADD_SEALS,
            F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return ErrnoStatus(errno, "cannot seal shared memory");
  *out = std::move(fd);
  return Status();
}

}  // namespace forebay::client::wire
