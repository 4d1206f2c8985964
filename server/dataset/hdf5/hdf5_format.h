#ifndef FOREBAY_SERVER_DATASET_HDF5_HDF5_FORMAT_H_
#define FOREBAY_SERVER_DATASET_HDF5_HDF5_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/hdf5/chunk_cache.h"
#include "server/dataset/hdf5/column.h"
#include "server/dataset/hdf5/row_key.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/gathered/pieces.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::hdf5 {

// HDF5 files, of which some datasets are read row by row. The extent of a row
// is that of the dataset that is not kept by the index: the row's bytes, or the
// chunk that it lies in. If there are several such datasets, or its chunks lie
// far apart, it is gathered of these. The row's key tells which, and has the
// values of all other datasets.
//
// Threads, ownership, blocking and errors are as RecordFormat says.
class Hdf5Format final : public records::RecordFormat {
 public:
  // The budget outlives it; it is for chunks that are kept without their
  // filters. If it is null, none are.
  Hdf5Format(std::vector<Column> columns, base::MemoryBudget* budget);
  // DATA_LOSS: the text is that of another format.
  static absl::StatusOr<std::shared_ptr<const Hdf5Format>> Parse(
      std::string_view text, base::MemoryBudget* budget);

  const std::string& text() const override { return text_; }
  absl::StatusOr<std::unique_ptr<records::RecordParser>> Parse(
      const storage::ListedObject& file, const ReadSizes& read_sizes,
      base::WorkingMemory* memory) const override;
  std::vector<Field> FieldsOf(const records::RecordIndex& index) const override;
  absl::Status ReadValuesOf(const records::RecordIndex& index,
                            std::uint64_t number,
                            absl::Span<const std::uint8_t> record,
                            absl::Span<FieldValue> values,
                            MadeValues* made) const override;
  // As ReadValues, of a record with that key, which goes as soon as this
  // returns.
  absl::Status ReadKeyedValues(std::string_view key,
                               absl::Span<const std::uint8_t> record,
                               absl::Span<FieldValue> values,
                               MadeValues* made) const;
  absl::StatusOr<std::vector<storage::gathered::Piece>> PiecesOf(
      std::string_view key) const override;
  bool has_values_elsewhere() const override { return true; }
  bool LowerBytes(const records::RecordIndex& index, std::uint64_t number,
                  absl::Span<std::uint64_t> bytes) const override;
  std::string NameOf(const records::RecordIndex& index,
                     std::uint64_t record) const override;

 private:
  absl::Status ReadKept(const RowKey& row, absl::Span<FieldValue> values,
                        MadeValues* made) const;

  const std::vector<Column> columns_;
  const std::string text_;
  std::vector<std::size_t> place_of_;  // of each column, among a row's
  std::vector<std::string> paths_;     // of the datasets that are read
  // Of each of these, if fixed; else 0. One, if none is read.
  std::vector<std::uint64_t> row_bytes_;
  mutable ChunkCache chunks_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_HDF5_FORMAT_H_
