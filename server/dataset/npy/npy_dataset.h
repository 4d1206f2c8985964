#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_DATASET_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_DATASET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/dataset/npy/npy_index.h"
#include "server/dataset/npy/npy_layout.h"

namespace forebay::dataset::npy {

// A dataset of .npy files. Each row of their arrays is a sample, whose only
// field is "array". The rows of all files have one type. Samples are numbered
// in the order of the files.
//
// Thread-safe and immutable, as Dataset says. Shares its index with other
// datasets of the same files, but reads through its own root. Never blocks and
// has no errors.
class NpyDataset final : public Dataset {
 public:
  // Makes the dataset of an index. `budget` counts the reads that revalidate
  // files, and outlives the dataset.
  NpyDataset(std::shared_ptr<const NpyIndex> index,
             std::shared_ptr<const storage::Root> root,
             base::MemoryBudget* budget);

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  std::string NameOf(std::uint64_t id) const override;
  std::uint64_t largest_sample() const override {
    return size() == 0 ? 0 : index_->row_bytes();
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  const Version& version() const override { return index_->version(); }
  const void* index() const override { return index_.get(); }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  const std::shared_ptr<const NpyIndex> index_;
  const std::shared_ptr<const NpyLayout> layout_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<Field> fields_;
  // Names of the classes; always empty, as rows have no labels.
  const std::vector<std::string> classes_;
};

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_DATASET_H_
