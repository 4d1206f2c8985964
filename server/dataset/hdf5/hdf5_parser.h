#ifndef FOREBAY_SERVER_DATASET_HDF5_HDF5_PARSER_H_
#define FOREBAY_SERVER_DATASET_HDF5_HDF5_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/chunk_walk.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/global_heap.h"
#include "server/dataset/hdf5/hdf5_column.h"
#include "server/dataset/hdf5/hdf5_row_reader.h"
#include "server/dataset/hdf5/row_key.h"
#include "server/dataset/hdf5/tree.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/compressed_keys.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/gathered/pieces.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::hdf5 {

// Bytes of the longest value that the index stores. A key has at most 64 KiB
// (records::kLongestKey), and several values share it.
inline constexpr std::uint64_t kMostIndexedBytes = 16384;

// Finds the rows of the columns' datasets in an HDF5 file. If paths have an
// asterisk, each object of the group is one row instead. The parser first finds
// the datasets. Then, for each dataset, it reads the dataset's index of chunks.
// If the sample index stores the values of rows, or if rows are references to
// values in heaps, the parser also reads all rows. Last, the parser finds the
// places of the values in heaps. Each step is repeated until all bytes that it
// needs were read.
//
// Used by one thread. The caller owns the parser. The parser owns the records
// that it finds, and counts them in `memory`. Never blocks. Errors name the
// file and the dataset: those of FindArray, ChunkWalk, RowReader and
// GlobalHeapWalk. INVALID_ARGUMENT: the rows of a dataset differ from those in
// the first file, or two datasets have different numbers of rows.
// UNIMPLEMENTED: the chunks of a dataset are too large, or too many chunks have
// parts of one row.
class Hdf5Parser final : public records::RecordParser {
 public:
  // Makes the parser of a file. There is at least one column. `columns` and
  // `memory` outlive the parser.
  static absl::StatusOr<std::unique_ptr<Hdf5Parser>> Create(
      storage::ListedObject file, const ReadSizes& read_sizes,
      const std::vector<Hdf5Column>* columns, base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override { return view_.wanted(); }
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  records::FileRecords TakeRecords() override;

 private:
  // A dataset with one or more columns, and the parts of it that were read so
  // far.
  struct Source {
    // Path as the columns have it, perhaps with an asterisk.
    std::string path;
    // Path of the dataset itself, for errors.
    std::string shown;
    ArrayLayout array;
    bool is_kept = false;
    bool is_variable = false;
    // Bytes of one element of a variable value.
    std::uint64_t element_bytes = 1;
    // Chunks by number, if the dataset is chunked.
    std::vector<StoredChunk> chunks;
    // All rows, if the sample index stores their values or the rows are
    // references.
    std::string rows;
    // The values that the rows refer to, if the rows are references.
    std::optional<GlobalHeapWalk> values;
  };
  using Pieces = std::vector<storage::gathered::Piece>;
  // The steps of the parser. kList is done once. kOpen is done for the file, or
  // for each object of the group. kChunks, kRows and kValues are done for each
  // source in turn.
  enum class Part { kList, kOpen, kChunks, kRows, kValues, kEnd };

  Hdf5Parser(storage::ListedObject file, const ReadSizes& read_sizes,
             const std::vector<Hdf5Column>* columns,
             base::WorkingMemory* memory);

  // Repeats Step until bytes are missing or the file is done.
  absl::Status Proceed();
  absl::Status Step();
  // Lists the objects of the group, if paths have an asterisk.
  absl::Status List();
  // Finds the datasets of the file, or of the present object.
  absl::Status Open();
  // Finds the dataset of a column, unless it was found for another column.
  // Checks that the dataset matches this column.
  absl::Status AddSource(const Hdf5Column& column);
  absl::StatusOr<NamedArray> FindSource(const std::string& path);
  // Begins the step `part` for the present source, or the first later step that
  // is needed.
  absl::Status BeginPart(Part part);
  absl::Status StepChunks(Source& source);
  absl::Status StepRows(Source& source);
  absl::Status StepValues(Source& source);
  // Checks that samples can be read from the source's chunks.
  absl::Status CheckChunks(const Source& source) const;
  // Adds all rows of the sources to the result, and goes on to the next object.
  absl::Status Emit();
  absl::Status EmitRow(std::uint64_t row);
  // Returns an extent after the file's end that stands for the pieces of a row.
  // Sets `length` of each place.
  absl::StatusOr<ValuePlace> Gather(const std::vector<Pieces>& pieces,
                                    std::vector<RowPlace>* places);
  // Adds one record with its extent and key.
  absl::Status AddRow(std::uint64_t row, const ValuePlace& extent,
                      const std::vector<RowPlace>& places, const Pieces& pieces,
                      const std::vector<std::string_view>& indexed_values);
  // Widens the bounds of each column's lengths to include the sources' rows.
  void AddBounds();
  // Frees the sources and gives back their memory.
  void DropSources();
  // Returns the value of a column whose values the sample index stores.
  std::string_view IndexedValue(const Hdf5Column& column, const Source& source,
                                std::uint64_t row) const;
  const Source& SourceOf(const Hdf5Column& column) const;
  std::uint64_t rows() const { return sources_.front().array.rows(); }

  const std::string object_;
  FileView view_;
  const std::vector<Hdf5Column>& columns_;
  base::WorkingMemory* const memory_;
  Part part_ = Part::kList;
  // The path of the group whose objects are samples, and the objects. Both are
  // empty if rows are samples.
  std::string group_;
  GroupObjects objects_;
  // Index of the object that is parsed now.
  std::size_t entry_ = 0;
  std::vector<Source> sources_;
  // Index of the source that is parsed now.
  std::size_t source_ = 0;
  std::optional<ChunkWalk> chunk_walk_;
  std::optional<RowReader> row_reader_;
  records::FileRecords records_;
  // Pieces of the row that was gathered last.
  Pieces gathered_;
  // Offset in bytes at which the gathered extents end so far; 0 if no row was
  // gathered. The first of these extents begins at the file's end.
  std::uint64_t gathered_end_ = 0;
  records::KeyCompressor keys_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_HDF5_PARSER_H_
