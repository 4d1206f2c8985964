#include "server/dataset/records/record_dataset.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::records {
namespace {

// Bytes of a value that was read.
std::uint64_t LengthOf(const FieldValue& value) {
  if (const auto* const range = std::get_if<FieldRange>(&value))
    return range->length;
  if (const auto* const made = std::get_if<MadeBytes>(&value))
    return made->bytes.size();
  return 0;
}

}  // namespace

RecordDataset::RecordDataset(std::shared_ptr<const RecordIndex> index,
                             std::shared_ptr<const RecordFormat> format,
                             std::shared_ptr<const storage::Root> root,
                             base::MemoryBudget* budget)
    : index_(std::move(index)),
      format_(std::move(format)),
      layout_(std::make_shared<const RecordLayout>(index_, format_, budget)),
      root_(std::move(root)),
      fields_(format_->FieldsOf(*index_)) {}

Sample RecordDataset::At(std::uint64_t id) const {
  const RecordIndex::Extent extent = index_->ExtentOf(id);
  storage::ListedObject file = index_->FileAt(extent.file);
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
                                       MadeValues* made) const {
  FOREBAY_CHECK(values.size() == fields_.size());
  const std::uint64_t length = index_->ExtentOf(id).length;
  if (read.size() < length) {
    return absl::DataLossError(
        absl::StrCat("has only ", read.size(), " of ", length, " bytes"));
  }
  // A cached variant may follow.
  FOREBAY_RETURN_IF_ERROR(
      format_->ReadValues(read.first(length), values, made));
  if (const auto field = format_->key_field(); field.has_value()) {
    const std::string key = index_->KeyOf(id);
    const absl::Span<std::uint8_t> copy = made->Add(key.size());
    std::copy(key.begin(), key.end(), copy.begin());
    values[*field] = MadeBytes{copy};
  }
  // A batch has room for no more. The file may have been written over since.
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (LengthOf(values[i]) <= fields_[i].longest) continue;
    return absl::DataLossError(absl::StrCat(
        fields_[i].name, ": has ", LengthOf(values[i]),
        " bytes, but when it was indexed at most ", fields_[i].longest));
  }
  return absl::OkStatus();
}

// A value is a part of its record, or numbers that take at least a byte each
// there.
void RecordDataset::MostBytesOf(std::uint64_t id,
                                absl::Span<std::uint64_t> bytes) const {
  Dataset::MostBytesOf(id, bytes);
  const std::uint64_t length = index_->ExtentOf(id).length;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (format_->key_field() == i) continue;  // lies elsewhere
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
