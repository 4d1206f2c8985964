#ifndef FOREBAY_SERVER_DATASET_FOLDER_FOLDER_DATASET_H_
#define FOREBAY_SERVER_DATASET_FOLDER_FOLDER_DATASET_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/dataset/dataset.h"
#include "server/dataset/folder/folder_index.h"

namespace forebay::dataset::folder {

// A dataset of class folders. It may share its index with others, and has a
// root of its own to read through.
class FolderDataset final : public Dataset {
 public:
  FolderDataset(std::shared_ptr<const FolderIndex> index,
                std::shared_ptr<const storage::Root> root)
      : index_(std::move(index)),
        root_(std::move(root)),
        fields_({{"image", proto::FieldKind::kImage, index_->largest_sample()},
                 {"label", proto::FieldKind::kLabel, 0}}) {}

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override { return index_->At(id); }
  void ValuesOf(std::uint64_t id,
                absl::Span<FieldValue> values) const override {
    values[0] = FieldRange{0, index_->LengthOf(id)};
    values[1] = index_->LabelOf(id);
  }
  std::uint64_t largest_sample() const override {
    return index_->largest_sample();
  }
  const std::vector<std::string>& classes() const override {
    return index_->classes();
  }
  const Version& version() const override { return index_->version(); }
  const void* index() const override { return index_.get(); }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  const std::shared_ptr<const FolderIndex> index_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<Field> fields_;
};

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_DATASET_H_
