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

// A dataset of the rows of several arrays of .npz files. A single array, which
// is stored and not deflated, stays in the files and is read row by row: its
// rows are the samples' extents. The rows of all other arrays are in memory.
// NpzLayout makes sure that the rows in memory and in the file come from one
// revision of each file.
//
// Thread-safe and immutable, as Dataset says. Shares the index and the memory.
// Never blocks and has no errors.
class StoredRows final : public Dataset {
 public:
  // Makes the dataset. `index` has the rows of field number `stored`. `fields`
  // has all fields, arrays of fixed length. `memory` has the rows of the other
  // fields, interleaved: the first row of each field in order, then the second
  // of each. `layout` is the layout of the index's files.
  StoredRows(std::shared_ptr<const npy::NpyIndex> index,
             std::shared_ptr<const storage::ObjectLayout> layout,
             std::shared_ptr<const storage::Root> root,
             std::vector<Field> fields, std::size_t stored,
             std::shared_ptr<const base::SealedMemory> memory);

  std::uint64_t size() const override { return index_->size(); }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  // Whether ReadValues must be called. Always true, because the fields in
  // memory are not a part of the extent.
  bool is_self_describing() const override { return true; }
  absl::Status ReadValues(std::uint64_t id, absl::Span<const std::uint8_t> read,
                          absl::Span<FieldValue> values,
                          ValueBuffers* buffers) const override;
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
  // Number of the field that stays in the files.
  const std::size_t stored_;
  const std::shared_ptr<const base::SealedMemory> memory_;
  // Bytes that one row of every field in memory takes together.
  const std::uint64_t record_bytes_;
  const Version version_;
  // Names of the classes; always empty, as rows have no labels.
  const std::vector<std::string> classes_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_STORED_ROWS_H_
