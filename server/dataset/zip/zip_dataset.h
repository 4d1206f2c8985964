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

// A dataset of class folders in zip archives. Datasets with different roots may
// share an index. A sample's extent begins with the header of a member, since
// only the header says where the data lies. The image or clip is therefore a
// CompressedRange, even if the member is stored.
//
// Threads, ownership, blocking and errors are as Dataset says.
class ZipDataset final : public Dataset {
 public:
  // The budget outlives the dataset.
  ZipDataset(std::shared_ptr<const ZipIndex> index,
             std::shared_ptr<const storage::Root> root, bool are_audio,
             base::MemoryBudget* budget);

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  // Decompresses the member in the extent. DATA_LOSS: the extent does not begin
  // with the member's header, or the member's data has another size or CRC than
  // the archive's directory says.
  absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
      std::uint64_t id, absl::Span<const std::uint8_t> compressed,
      DecompressionRoom room) const override;
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
