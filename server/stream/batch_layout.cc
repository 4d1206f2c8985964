#include "server/stream/batch_layout.h"

#include <algorithm>
#include <cstring>

#include "proto/shm_mapping.h"
#include "server/base/check.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t Aligned(std::uint64_t offset) {
  return (offset + proto::kFieldAlignment - 1) / proto::kFieldAlignment *
         proto::kFieldAlignment;
}

// Whole huge pages, where little is lost by it: a trainer finds its private
// pages by looking at each page that it has mapped.
constexpr std::uint64_t WholePages(std::uint64_t bytes) {
  constexpr std::uint64_t kHuge = proto::kHugePageBytes;
  const std::uint64_t rounded = (bytes + kHuge - 1) / kHuge * kHuge;
  return rounded - bytes <= bytes / 8 ? rounded : bytes;
}

proto::FieldLayout Field(const char* name, proto::FieldKind kind,
                         proto::DType dtype, std::uint64_t offset) {
  proto::FieldLayout field = {};
  std::strncpy(field.name, name, sizeof(field.name) - 1);
  field.kind = kind;
  field.dtype = dtype;
  field.offset = offset;
  return field;
}

// A field with one int64 a sample.
proto::FieldLayout ScalarField(const char* name, proto::FieldKind kind,
                               std::uint64_t offset, std::uint32_t batch_size) {
  proto::FieldLayout field = Field(name, kind, proto::DType::kInt64, offset);
  field.rank = 1;
  field.shape[0] = batch_size;
  field.bytes = batch_size * sizeof(std::int64_t);
  return field;
}

void SetScalar(std::uint8_t* slot, const proto::FieldLayout& field,
               std::uint32_t place, std::int64_t value) {
  std::memcpy(slot + field.offset + place * sizeof(value), &value,
              sizeof(value));
}

void SetSampleCount(proto::FieldLayout& field, std::uint64_t sample_count) {
  field.bytes = field.bytes / field.shape[0] * sample_count;
  field.shape[0] = sample_count;
}

}  // namespace

BatchLayout::BatchLayout(const pipeline::TensorType& image,
                         std::uint32_t batch_size)
    : image_bytes_(image.bytes) {
  FOREBAY_CHECK(image.shape.size() + 1 <= proto::kMaxRank && batch_size > 0);
  image_ = Field("image", proto::FieldKind::kImage, image.dtype,
                 proto::kSlotHeaderBytes);
  image_.rank = static_cast<std::uint32_t>(image.shape.size()) + 1;
  image_.shape[0] = batch_size;
  std::copy(image.shape.begin(), image.shape.end(), image_.shape + 1);
  image_.bytes = image_bytes_ * batch_size;
  label_ = ScalarField("label", proto::FieldKind::kLabel,
                       Aligned(image_.offset + image_.bytes), batch_size);
  sample_id_ = ScalarField("sample_id", proto::FieldKind::kSampleId,
                           Aligned(label_.offset + label_.bytes), batch_size);
  slot_bytes_ = WholePages(Aligned(sample_id_.offset + sample_id_.bytes));
}

void BatchLayout::SetLabel(std::uint8_t* slot, std::uint32_t place,
                           std::int64_t label) const {
  SetScalar(slot, label_, place, label);
}

void BatchLayout::SetSampleId(std::uint8_t* slot, std::uint32_t place,
                              std::int64_t id) const {
  SetScalar(slot, sample_id_, place, id);
}

void BatchLayout::WriteHeader(std::uint8_t* slot, const Batch& batch) const {
  proto::BatchHeader header = {};
  header.magic = proto::kBatchMagic;
  header.version = proto::kLayoutVersion;
  header.generation = batch.generation;
  header.sample_count = batch.sample_count;
  header.epoch = batch.epoch;
  header.first_sample = batch.first_sample;
  for (const proto::FieldLayout* field : {&image_, &label_, &sample_id_}) {
    header.fields[header.field_count] = *field;
    SetSampleCount(header.fields[header.field_count++], batch.sample_count);
  }
  std::memcpy(slot, &header, sizeof(header));
}

std::uint64_t BatchLayout::DataBytes(std::uint64_t sample_count) const {
  return sample_count * (image_bytes_ + 2 * sizeof(std::int64_t));
}

}  // namespace forebay::stream
