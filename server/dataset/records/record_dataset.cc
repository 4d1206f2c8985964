#include "server/dataset/records/record_dataset.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/records/record_pieces.h"
#include "server/storage/compressed/decompressed_root.h"

namespace forebay::dataset::records {
namespace {

// Returns the number of bytes of a value that was read. Returns 0 for values
// from the index.
std::uint64_t LengthOf(const FieldValue& value) {
  if (const auto* const range = std::get_if<FieldRange>(&value))
    return range->length;
  if (const auto* const computed = std::get_if<ComputedBytes>(&value))
    return computed->bytes.size();
  return 0;
}

}  // namespace

RecordDataset::RecordDataset(std::shared_ptr<const RecordIndex> index,
                             std::shared_ptr<const RecordFormat> format,
                             std::shared_ptr<const storage::Root> root,
                             base::MemoryBudget* budget, FileClasses classes)
    : index_(std::move(index)),
      format_(std::move(format)),
      layout_(std::make_shared<const RecordLayout>(index_, format_, budget)),
      root_(WithPieces(
          storage::compressed::WithPoints(std::move(root), index_->points()),
          index_, format_)),
      fields_(format_->FieldsOf(*index_)),
      classes_(std::move(classes)) {}

Sample RecordDataset::At(std::uint64_t id) const {
  const RecordIndex::Extent extent = index_->ExtentOf(id);
  storage::ListedObject file = index_->FileAt(extent.file);
  if (index_->gathers()) file.version.size = index_->GatheredSize(extent.file);
  return {.object = std::move(file.name),
          .version = file.version,
          .layout = layout_,
          .offset = extent.offset,
          .length = extent.length};
}

void RecordDataset::ValuesOf(std::uint64_t, absl::Span<FieldValue>) const {
  FOREBAY_CHECK(!is_self_describing());
}

absl::Status RecordDataset::ReadValues(std::uint64_t id,
                                       absl::Span<const std::uint8_t> read,
                                       absl::Span<FieldValue> values,
                                       ValueBuffers* buffers) const {
  FOREBAY_CHECK(values.size() == fields_.size());
  const RecordIndex::Extent extent = index_->ExtentOf(id);
  if (read.size() < extent.length) {
    return absl::DataLossError(absl::StrCat("has only ", read.size(), " of ",
                                            extent.length, " bytes"));
  }
  // `read` may be longer than the extent: a cached variant may follow it.
  FOREBAY_RETURN_IF_ERROR(format_->ReadValuesOf(
      *index_, id, read.first(extent.length), values, buffers));
  if (const auto field = format_->key_field(); field.has_value()) {
    const std::string key = index_->KeyOf(id);
    const absl::Span<std::uint8_t> copy = buffers->Add(key.size());
    std::copy(key.begin(), key.end(), copy.begin());
    values[*field] = ComputedBytes{copy};
  }
  if (const auto field = format_->file_field(); field.has_value())
    values[*field] = static_cast<std::int64_t>(extent.file);
  if (const auto field = format_->class_field(); field.has_value())
    values[*field] = classes_.LabelOf(index_->FileAt(extent.file).name);
  // A batch has room only for the longest value that was indexed. Since then, a
  // writer may have put longer values into the file and kept its time.
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (LengthOf(values[i]) <= fields_[i].longest) continue;
    return absl::DataLossError(absl::StrCat(
        fields_[i].name, ": has ", LengthOf(values[i]),
        " bytes, but when it was indexed at most ", fields_[i].longest));
  }
  return absl::OkStatus();
}

void RecordDataset::MostBytesOf(std::uint64_t id,
                                absl::Span<std::uint64_t> bytes) const {
  Dataset::MostBytesOf(id, bytes);
  if (format_->LowerBytes(*index_, id, bytes)) return;
  const std::uint64_t length = index_->BytesOf(id);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (format_->key_field() == i) continue;  // the key is in the index
    const bool is_array = fields_[i].array.has_value();
    const std::uint64_t each =
        is_array ? proto::SizeOf(fields_[i].array->dtype) : 1;
    if (length < bytes[i] / each) bytes[i] = length * each;
  }
}

std::string RecordDataset::NameOf(std::uint64_t id) const {
  return format_->NameOf(*index_, id);
}

}  // namespace forebay::dataset::records
