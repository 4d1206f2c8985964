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
#include "server/dataset/hdf5/hdf5_column.h"
#include "server/dataset/hdf5/row_key.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/gathered/pieces.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::hdf5 {

// The format of HDF5 files whose datasets are read row by row. The index stores
// the values of small columns in the key of each row. All other values are read
// with the sample. The extent of a row is the bytes of the row in the file, or
// the chunk that contains the row. If several datasets are read, or the chunks
// of a row lie far apart, the extent is gathered from pieces
// (`storage/gathered`). The key says how the row lies in its extent
// (row_key.h).
//
// Immutable and thread-safe, except for the cache of chunks, which locks. Owns
// its columns and that cache; datasets share the format. Blocks only while
// another thread uses the cache. Errors give the reason alone, as RecordFormat
// says.
class Hdf5Format final : public records::RecordFormat {
 public:
  // Makes the format of these columns. `budget` counts the chunks that are
  // cached without their filters, and outlives the format. If `budget` is null,
  // no chunk is cached.
  Hdf5Format(std::vector<Hdf5Column> columns, base::MemoryBudget* budget);
  // Makes the format whose text() is `text`. DATA_LOSS: `text` is of another
  // format.
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
                            ValueBuffers* buffers) const override;
  // Reads the values of the record whose key is `key`, as ReadValues does.
  // `key` need not outlive the call.
  absl::Status ReadKeyedValues(std::string_view key,
                               absl::Span<const std::uint8_t> record,
                               absl::Span<FieldValue> values,
                               ValueBuffers* buffers) const;
  absl::StatusOr<std::vector<storage::gathered::Piece>> PiecesOf(
      std::string_view key) const override;
  // Whether samples have values outside of their extents. Always true, because
  // keys store the values of small columns.
  bool has_values_elsewhere() const override { return true; }
  bool LowerBytes(const records::RecordIndex& index, std::uint64_t number,
                  absl::Span<std::uint64_t> bytes) const override;
  std::string NameOf(const records::RecordIndex& index,
                     std::uint64_t record) const override;

 private:
  // Reads the values that the key stores.
  absl::Status ReadIndexedValues(const RowKey& row,
                                 absl::Span<FieldValue> values,
                                 ValueBuffers* buffers) const;

  const std::vector<Hdf5Column> columns_;
  const std::string text_;
  // For each column, the index of its dataset in `paths_`; SIZE_MAX if keys
  // store the column's values.
  std::vector<std::size_t> place_of_;
  // Paths of the datasets that are read with a sample.
  std::vector<std::string> paths_;
  // Row bytes of each dataset in `paths_`; 0 if its rows vary in length. If no
  // dataset is read, there is one element, 0.
  std::vector<std::uint64_t> row_bytes_;
  // Chunks without their filters. Mutable, because a const call that reads a
  // sample may add a chunk.
  mutable ChunkCache chunks_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_HDF5_FORMAT_H_
