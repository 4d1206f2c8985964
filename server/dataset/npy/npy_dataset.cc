#include "server/dataset/npy/npy_dataset.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace forebay::dataset::npy {

NpyDataset::NpyDataset(std::shared_ptr<const NpyIndex> index,
                       std::shared_ptr<const storage::Root> root,
                       base::MemoryBudget* budget)
    : index_(std::move(index)),
      layout_(std::make_shared<const NpyLayout>(index_, budget)),
      root_(std::move(root)),
      fields_{Field{.name = "array",
                    .kind = proto::FieldKind::kArray,
                    .longest = index_->row_bytes(),
                    .array = index_->type()}} {}

Sample NpyDataset::At(std::uint64_t id) const {
  const NpyIndex::Extent extent = index_->ExtentOf(id);
  return {.object = index_->PathOf(extent.file),
          .version = index_->VersionOf(extent.file),
          .layout = layout_,
          .offset = extent.offset,
          .length = index_->row_bytes()};
}

void NpyDataset::ValuesOf(std::uint64_t id,
                          absl::Span<FieldValue> values) const {
  FOREBAY_CHECK(id < size() && values.size() == fields_.size());
  values[0] = FieldRange{.offset = 0, .length = index_->row_bytes()};
}

std::string NpyDataset::NameOf(std::uint64_t id) const {
  return absl::StrCat("row ", index_->ExtentOf(id).row);
}

}  // namespace forebay::dataset::npy
