#include "server/dataset/memory/array_dataset.h"

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/dataset.pb.h"
#include "server/base/status.h"
#include "server/dataset/version_digest.h"
#include "server/storage/memory/memory_root.h"

namespace forebay::dataset::memory {
namespace {

static_assert(std::endian::native == std::endian::little,
              "what lies in memory is little-endian");

// Returns the digest that is the dataset's version. The seed is a description
// of the fields, so that equal bytes with other fields have another digest. The
// description has the lengths of names, so that no two descriptions are equal
// by chance.
Version DigestOf(const proto::Arrays& spec,
                 absl::Span<const std::uint8_t> bytes) {
  std::string description = absl::StrCat(spec.samples());
  for (const proto::ArrayField& field : spec.fields()) {
    absl::StrAppend(&description, ";", field.name().size(), ":", field.name(),
                    ":", static_cast<int>(field.kind()), ":",
                    static_cast<int>(field.dtype()));
    for (const std::uint64_t extent : field.shape()) {
      absl::StrAppend(&description, ",", extent);
    }
  }
  return ToVersion(XXH3_128bits_withSeed(
      bytes.data(), bytes.size(),
      XXH3_64bits(description.data(), description.size())));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> ArrayDataset::Create(
    const proto::DatasetSpec& spec,
    std::shared_ptr<const base::SealedMemory> memory) {
  const proto::Arrays& arrays = spec.arrays();
  auto layout = MemoryRecordLayout::Create(arrays.fields(), arrays.samples());
  if (!layout.ok()) return base::Annotate(layout.status(), spec.uri());
  const absl::Status fits = layout->CheckBytes(memory->bytes().size());
  if (!fits.ok()) return base::Annotate(fits, spec.uri());
  const Version version = DigestOf(arrays, memory->bytes());
  return std::shared_ptr<const Dataset>(new ArrayDataset(
      *std::move(layout), version, spec.uri(), std::move(memory)));
}

ArrayDataset::ArrayDataset(MemoryRecordLayout layout, const Version& version,
                           const std::string& uri,
                           std::shared_ptr<const base::SealedMemory> memory)
    : layout_(std::move(layout)),
      version_(version),
      memory_(std::move(memory)),
      root_(std::make_shared<const storage::memory::MemoryRoot>(
          uri, std::string(version.begin(), version.end()), memory_)) {}

Sample ArrayDataset::At(std::uint64_t id) const {
  Sample sample;
  // The root has only one object, the memory, and ignores the name of the
  // object.
  sample.object = "memory";
  sample.version.size = memory_->bytes().size();
  sample.offset = id * layout_.record_bytes();
  sample.length = layout_.record_bytes();
  return sample;
}

void ArrayDataset::ValuesOf(std::uint64_t id,
                            absl::Span<FieldValue> values) const {
  const std::uint8_t* const record =
      memory_->bytes().data() + id * layout_.record_bytes();
  for (std::size_t i = 0; i < layout_.fields().size(); ++i) {
    // Labels are given as numbers; all other fields are ranges of the record.
    if (layout_.fields()[i].kind == proto::FieldKind::kLabel) {
      std::int64_t label;
      std::memcpy(&label, record + layout_.part(i).offset, sizeof(label));
      values[i] = label;
    } else {
      values[i] = layout_.part(i);
    }
  }
}

}  // namespace forebay::dataset::memory
