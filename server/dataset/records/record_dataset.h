#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_DATASET_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/dataset/records/file_classes.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/records/record_layout.h"

namespace forebay::dataset::records {

// A dataset of files of records: each record is a sample. Several datasets,
// each with its own root, may share an index.
//
// For threads, ownership, blocking and errors, see Dataset.
class RecordDataset final : public Dataset {
 public:
  // The index was built with `format`. If the format has a class_field(),
  // `classes` are the classes of the index's files; otherwise they are empty.
  // The budget outlives the dataset.
  RecordDataset(std::shared_ptr<const RecordIndex> index,
                std::shared_ptr<const RecordFormat> format,
                std::shared_ptr<const storage::Root> root,
                base::MemoryBudget* budget, FileClasses classes);

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  bool is_self_describing() const override { return true; }
  absl::Status ReadValues(std::uint64_t id, absl::Span<const std::uint8_t> read,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override;
  void MostBytesOf(std::uint64_t id,
                   absl::Span<std::uint64_t> bytes) const override;
  bool shares_extents() const override {
    return index_->shares_extents() ||
           (format_->has_values_elsewhere() && !index_->extents_ascend());
  }
  std::uint64_t SizeOf(std::uint64_t id) const override {
    return index_->BytesOf(id);
  }
  std::string NameOf(std::uint64_t id) const override;
  std::uint64_t largest_sample() const override { return index_->longest(); }
  const std::vector<std::string>& classes() const override {
    return classes_.names();
  }
  const Version& version() const override { return index_->version(); }
  const void* index() const override { return index_.get(); }
  // Returns the index, for callers that look for keys or measure lengths.
  const RecordIndex& records() const { return *index_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  const std::shared_ptr<const RecordIndex> index_;
  const std::shared_ptr<const RecordFormat> format_;
  const std::shared_ptr<const RecordLayout> layout_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<Field> fields_;
  const FileClasses classes_;  // empty if the format has no class_field()
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_DATASET_H_
