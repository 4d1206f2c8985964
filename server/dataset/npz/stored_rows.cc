#include "server/dataset/npz/stored_rows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/dataset/version_digest.h"

namespace forebay::dataset::npz {
namespace {

// Returns the size in bytes of one row of every field but the stored one.
std::uint64_t RecordBytes(const std::vector<Field>& fields,
                          std::size_t stored) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i != stored) bytes += fields[i].longest;
  }
  return bytes;
}

// Returns the version of the dataset: a digest of the index's version, of the
// fields, and of all rows in memory.
Version DigestOf(const npy::NpyIndex& index, const std::vector<Field>& fields,
                 absl::Span<const std::uint8_t> memory) {
  VersionDigest digest("npz");
  digest.Add(index.version());
  for (const Field& field : fields) {
    digest.Add(std::string_view(field.name));
    digest.Add(static_cast<std::uint32_t>(field.array->dtype));
    digest.Add(std::uint64_t{field.array->shape.size()});
    digest.AddItems(field.array->shape.data(), field.array->shape.size());
  }
  return digest.AddItems(memory.data(), memory.size()).Get();
}

}  // namespace

StoredRows::StoredRows(std::shared_ptr<const npy::NpyIndex> index,
                       std::shared_ptr<const storage::ObjectLayout> layout,
                       std::shared_ptr<const storage::Root> root,
                       std::vector<Field> fields, std::size_t stored,
                       std::shared_ptr<const base::SealedMemory> memory)
    : index_(std::move(index)),
      layout_(std::move(layout)),
      root_(std::move(root)),
      fields_(std::move(fields)),
      stored_(stored),
      memory_(std::move(memory)),
      record_bytes_(RecordBytes(fields_, stored_)),
      version_(DigestOf(*index_, fields_, memory_->bytes())) {
  FOREBAY_CHECK(stored_ < fields_.size() &&
                memory_->bytes().size() == size() * record_bytes_);
}

Sample StoredRows::At(std::uint64_t id) const {
  const npy::NpyIndex::Extent extent = index_->ExtentOf(id);
  return {.object = index_->PathOf(extent.file),
          .version = index_->VersionOf(extent.file),
          .layout = layout_,
          .offset = extent.offset,
          .length = index_->row_bytes()};
}

void StoredRows::ValuesOf(std::uint64_t, absl::Span<FieldValue>) const {
  FOREBAY_CHECK(!is_self_describing());
}

absl::Status StoredRows::ReadValues(std::uint64_t id,
                                    absl::Span<const std::uint8_t>,
                                    absl::Span<FieldValue> values,
                                    ValueBuffers*) const {
  FOREBAY_CHECK(id < size() && values.size() == fields_.size());
  std::uint64_t at = id * record_bytes_;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::uint64_t length = fields_[i].longest;
    if (i == stored_) {
      values[i] = FieldRange{.offset = 0, .length = length};
    } else {
      values[i] = ComputedBytes{memory_->bytes().subspan(at, length)};
      at += length;
    }
  }
  return absl::OkStatus();
}

std::string StoredRows::NameOf(std::uint64_t id) const {
  return absl::StrCat("row ", index_->ExtentOf(id).row);
}

}  // namespace forebay::dataset::npz
