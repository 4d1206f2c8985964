#include "client/shm/window.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace forebay::client::shm {
namespace {

Status Malformed() {
  return Status(FOREBAY_INTERNAL, "the fetched samples are malformed");
}

// Whether the number of a field's bytes fits its type and shape. A single
// integer has rank 0.
bool IsPlausible(const proto::FetchedField& field) {
  if (field.rank > proto::kMaxRank) return false;
  std::uint64_t bytes = proto::SizeOf(field.dtype);
  if (bytes == 0) return false;
  for (std::uint32_t i = 0; i < field.rank; ++i) {
    if (__builtin_mul_overflow(bytes, field.shape[i], &bytes)) return false;
  }
  return bytes == field.bytes;
}

}  // namespace

void FetchWindow::Unmap() {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

Status FetchWindow::Map(const proto::Fd& fd, std::uint64_t bytes) {
  Unmap();
  struct stat status;
  if (fstat(fd.get(), &status) != 0)
    return ErrnoStatus(errno, "cannot look at fetched samples");
  if (bytes < sizeof(proto::FetchHeader) ||
      static_cast<std::uint64_t>(status.st_size) < bytes)
    return Malformed();
  void* const data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED)
    return ErrnoStatus(errno, "cannot map fetched samples");
  data_ = static_cast<std::uint8_t*>(data);
  bytes_ = bytes;
  return Status();
}

Status FetchWindow::Check(std::uint64_t samples, std::uint32_t fields) const {
  if (data_ == nullptr) return Malformed();
  // The header is copied before it is checked, because the daemon could change
  // it between two reads.
  proto::FetchHeader header;
  memcpy(&header, data_, sizeof header);
  if (header.magic != proto::kFetchMagic ||
      header.version != proto::kLayoutVersion ||
      header.sample_count != samples || header.field_count != fields ||
      proto::FetchedFieldOffset(samples, 0, fields) > bytes_)
    return Malformed();
  return Status();
}

Status FetchWindow::Find(std::uint64_t sample, std::uint32_t field,
                         std::uint32_t fields, proto::FetchedField* out) const {
  memcpy(out, data_ + proto::FetchedFieldOffset(sample, field, fields),
         sizeof *out);
  if (out->kind == proto::FieldKind{}) return Status();
  if (!IsPlausible(*out) || out->offset > bytes_ ||
      out->bytes > bytes_ - out->offset)
    return Malformed();
  return Status();
}

}  // namespace forebay::client::shm
