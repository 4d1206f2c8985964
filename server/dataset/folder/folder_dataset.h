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

// A dataset of files, in class folders or directly in one folder: each file is
// a sample. Several datasets, each with its own root, may share an index.
//
// For threads, ownership, blocking and errors, see Dataset.
class FolderDataset final : public Dataset {
 public:
  // `content` is the field whose values are the files' bytes. The constructor
  // sets its `longest` and `shortest`.
  FolderDataset(std::shared_ptr<const FolderIndex> index,
                std::shared_ptr<const storage::Root> root, Field content)
      : index_(std::move(index)),
        root_(std::move(root)),
        fields_({std::move(content)}) {
    fields_[0].longest = index_->largest_sample();
    fields_[0].shortest = index_->smallest_sample();
    if (!index_->is_flat())
      fields_.push_back({.name = "label", .kind = proto::FieldKind::kLabel});
  }

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override { return index_->At(id); }
  void ValuesOf(std::uint64_t id,
                absl::Span<FieldValue> values) const override {
    values[0] = FieldRange{0, index_->LengthOf(id)};
    if (fields_.size() > 1) values[1] = index_->LabelOf(id);
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
  std::vector<Field> fields_;
};

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_DATASET_H_
