#include "client/core/image_tail.h"

#include <string.h>

namespace forebay::client::core {
namespace {

constexpr std::uint64_t kValues = 256;  // the values of a uint8

Status Malformed(const char* what) {
  return Status(FOREBAY_INTERNAL,
                std::string("the daemon sent a malformed tail: ") + what);
}

}  // namespace

Status ImageTail::Create(const message::Tail& said, ImageTail* out) {
  *out = ImageTail();
  if (said.channels == 0) return Status();
  if (said.channels != 1 && said.channels != 3) return Malformed("channels");
  if (said.dtype < 0 || said.dtype > message::kUint64)
    return Malformed("its type");
  const auto dtype = static_cast<proto::DType>(said.dtype);
  const std::uint64_t element = proto::SizeOf(dtype);
  if (element != 1 && element != 2 && element != 4)
    return Malformed("its type");
  if (said.table.size() != said.channels * kValues * element)
    return Malformed("its table");
  out->needed_ = true;
  out->dtype_ = dtype;
  out->kernel_.element_bytes = static_cast<std::uint32_t>(element);
  out->kernel_.planar = said.layout != message::ToImage::kNhwc;
  out->kernel_.colors = said.channels;
  // Each element of 1, 2 or 4 bytes goes to the low bytes of a 32-bit entry.
  // The daemon's table is little-endian, and so is this CPU.
  for (std::uint64_t i = 0; i < said.channels * kValues; ++i) {
    memcpy(&out->kernel_.table[i], said.table.data() + i * element, element);
  }
  return Status();
}

bool ImageTail::IsFor(const proto::FieldLayout& field) const {
  return needed_ && field.kind == proto::FieldKind::kImage &&
         field.place == proto::Place::kDevice;
}

Status ImageTail::Describe(proto::BatchHeader* header) const {
  for (std::uint32_t i = 0; i < header->field_count; ++i) {
    proto::FieldLayout& field = header->fields[i];
    if (!IsFor(field)) continue;
    if (field.dtype != proto::DType::kUint8 || field.rank != 4 ||
        field.shape[3] != kernel_.colors)
      return Malformed("it does not fit the images");
    field.dtype = dtype_;
    field.bytes *= kernel_.element_bytes;
    if (kernel_.planar != 0) {
      const std::uint64_t height = field.shape[1];
      const std::uint64_t width = field.shape[2];
      field.shape[1] = kernel_.colors;
      field.shape[2] = height;
      field.shape[3] = width;
    }
  }
  return Status();
}

Status ImageTail::Run(device::Gpu& gpu, void* stream,
                      const proto::FieldLayout& field, std::uint64_t from,
                      std::uint64_t to) const {
  if (field.bytes == 0) return Status();
  if (!IsFor(field)) return gpu.Copy(stream, from, to, field.bytes);
  const std::uint64_t pixels =
      field.bytes / kernel_.element_bytes / kernel_.colors / field.shape[0];
  return gpu.RunTail(stream, kernel_, from, to, field.shape[0], pixels);
}

}  // namespace forebay::client::core
