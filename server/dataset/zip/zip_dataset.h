#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_DATASET_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/dataset/zip/zip_index.h"
#include "server/dataset/zip/zip_layout.h"

namespace forebay::dataset::zip {

// A dataset of class folders in zip archives. Its images or clips are packed:
// an extent begins with the header of a member, which only says where the data
// lies. It may share its index with others, and has a root of its own to read
// through.
class ZipDataset final : public Dataset {
 public:
  // The budget outlives it.
  ZipDataset(std::shared_ptr<const ZipIndex> index,
             std::shared_ptr<const storage::Root> root, bool are_audio,
             base::MemoryBudget* budget);

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  // DATA_LOSS: there is no header of that member, its data is not what the
  // archive's directory says, or has another CRC.
  absl::StatusOr<absl::Span<const std::uint8_t>> Unpack(
      std::uint64_t id, absl::Span<const std::uint8_t> packed,
      UnpackRoom room) const override;
  std::string NameOf(std::uint64_t id) const override;
  std::uint64_t largest_sample() const override {
    return index_->longest_extent();
  }
  const std::vector<std::string>& classes() const override {
    return index_->images().classes();
  }
  const Version& version() const override { return index_->version(); }
  const void* index() const override { return index_.get(); }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  const std::shared_ptr<const ZipIndex> index_;
  const std::shared_ptr<const ZipLayout> layout_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<Field> fields_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_DATASET_H_
