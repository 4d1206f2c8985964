#ifndef FOREBAY_SERVER_DATASET_NPZ_STORED_ROWS_H_
#define FOREBAY_SERVER_DATASET_NPZ_STORED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/sealed_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/npy/npy_index.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::npz {

// A dataset of the rows of several arrays. One of them is stored in files and
// read row by row: its rows are the samples' extents. Those of the others are
// in memory. A sample has rows of one revision of its file: see NpzLayout.
class StoredRows final : public Dataset {
 public:
  // `index` has the rows of field number `stored`, an item of `fields`, all of
  // which are arrays without raggedness. `memory` has those of the others: the
  // first row of each in their order, then the second of each. `layout` is that
  // of the index's files.
  StoredRows(std::shared_ptr<const npy::NpyIndex> index,
             std::shared_ptr<const storage::ObjectLayout> layout,
             std::shared_ptr<const storage::Root> root,
             std::vector<Field> fields, std::size_t stored,
             std::shared_ptr<const base::SealedMemory> memory);

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  // Fields in memory are no part of the extent.
  bool is_self_describing() const override { return true; }
  absl::Status ReadValues(std::uint64_t id, absl::Span<const std::uint8_t> read,
                          absl::Span<FieldValue> values,
                          MadeValues* made) const override;
  std::string NameOf(std::uint64_t id) const override;
  std::uint64_t largest_sample() const override {
    return size() == 0 ? 0 : index_->row_bytes();
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  const Version& version() const override { return version_; }
  const void* index() const override { return index_.get(); }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  const std::shared_ptr<const npy::NpyIndex> index_;
  const std::shared_ptr<const storage::ObjectLayout> layout_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<Field> fields_;
  const std::size_t stored_;
  const std::shared_ptr<const base::SealedMemory> memory_;
  const std::uint64_t record_bytes_;  // of a row of each in memory
  const Version version_;
  const std::vector<std::string> classes_;  // empty
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_STORED_ROWS_H_
