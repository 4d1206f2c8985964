#include "server/dataset/tokens/token_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace forebay::dataset::tokens {
namespace {

// Returns the fields. If all windows have the same length, the fields are
// arrays of this length. If not, the fields are arrays with any number of rows.
std::vector<Field> FieldsOf(const TokenIndex& index) {
  const TokenSettings& settings = index.settings();
  const std::uint64_t more = settings.has_targets ? 1 : 0;
  // A field's type needs at least one token, even if there are no samples.
  const std::uint64_t longest = settings.is_ragged()
                                    ? std::max(index.longest(), 1 + more) - more
                                    : settings.length.value_or(1);
  Field field{.name = "tokens", .kind = proto::FieldKind::kArray};
  field.longest = longest * proto::SizeOf(index.dtype());
  field.has_rows = settings.is_ragged();
  field.array = ArrayType{.dtype = index.dtype(), .shape = {}};
  if (!field.has_rows) field.array->shape.push_back(longest);
  std::vector<Field> fields = {field};
  if (settings.has_targets) {
    field.name = "targets";
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace

TokenDataset::TokenDataset(std::shared_ptr<const TokenIndex> index,
                           std::shared_ptr<const storage::Root> root,
                           base::MemoryBudget* budget)
    : index_(std::move(index)),
      layout_(std::make_shared<const TokenLayout>(index_, budget)),
      root_(std::move(root)),
      fields_(FieldsOf(*index_)) {}

Sample TokenDataset::At(std::uint64_t id) const {
  const TokenIndex::Extent extent = index_->ExtentOf(id);
  return {.object = index_->FileAt(extent.file).name,
          .version = index_->VersionOf(extent.file),
          .layout = layout_,
          .offset = extent.offset,
          .length = extent.count * token_bytes()};
}

void TokenDataset::ValuesOf(std::uint64_t id,
                            absl::Span<FieldValue> values) const {
  FOREBAY_CHECK(values.size() == fields_.size());
  // If there are targets, a window has one token more than each field.
  const std::uint64_t more = values.size() - 1;
  const std::uint64_t length =
      (index_->ExtentOf(id).count - more) * token_bytes();
  values[0] = FieldRange{.offset = 0, .length = length};
  if (more > 0)
    values[1] = FieldRange{.offset = token_bytes(), .length = length};
}

std::string TokenDataset::NameOf(std::uint64_t id) const {
  const TokenIndex::Extent extent = index_->ExtentOf(id);
  return absl::StrCat("tokens ", extent.first, " to ",
                      extent.first + extent.count - 1);
}

}  // namespace forebay::dataset::tokens
