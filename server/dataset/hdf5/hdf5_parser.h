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
#include "server/dataset/hdf5/column.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/global_heap.h"
#include "server/dataset/hdf5/row_key.h"
#include "server/dataset/hdf5/row_reader.h"
#include "server/dataset/hdf5/tree.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/packed_keys.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/gathered/pieces.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::hdf5 {

// Bytes of a value that the index keeps, at most.
inline constexpr std::uint64_t kMostKept = 16384;

// Finds the rows of the columns' datasets in an HDF5 file, or the objects that
// are samples. First it looks for the datasets, of one object after the other.
// Then it reads, of each: where its chunks lie; all of its rows, if the index
// keeps them or they refer to heaps; and what they refer to. Each of these
// steps is repeated until its bytes are at hand.
//
// Threads, ownership and blocking are as ObjectParser says. Errors name the
// file and the dataset: those of FindArray, ChunkWalk, RowReader and
// GlobalHeapWalk; INVALID_ARGUMENT: a dataset has other rows than in the first
// file, or not as many as another one; UNIMPLEMENTED: its chunks are too large,
// or too many have parts of a row.
class Hdf5Parser final : public records::RecordParser {
 public:
  // Columns, at least one, and memory outlive it.
  static absl::StatusOr<std::unique_ptr<Hdf5Parser>> Create(
      storage::ListedObject file, const ReadSizes& read_sizes,
      const std::vector<Column>* columns, base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override { return view_.wanted(); }
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  records::FileRecords TakeRecords() override;

 private:
  // A dataset, of which there may be several columns.
  struct Source {
    std::string path;   // the columns'
    std::string shown;  // its own
    ArrayLayout array;
    bool is_kept = false;
    bool is_variable = false;
    std::uint64_t element_bytes = 1;  // of variable values
    std::vector<Chunk> chunks;
    std::string rows;  // if they are kept, or refer to values
    std::optional<GlobalHeapWalk> values;  // of variable rows
  };
  using Pieces = std::vector<storage::gathered::Piece>;
  enum class Part { kList, kOpen, kChunks, kRows, kValues, kEnd };

  Hdf5Parser(storage::ListedObject file, const ReadSizes& read_sizes,
             const std::vector<Column>* columns, base::WorkingMemory* memory);

  absl::Status Proceed();
  absl::Status Step();
  absl::Status List();
  absl::Status Open();
  absl::Status AddSource(const Column& column);
  absl::StatusOr<FoundArray> FindSource(const std::string& path);
  absl::Status BeginPart(Part part);
  absl::Status StepChunks(Source& source);
  absl::Status StepRows(Source& source);
  absl::Status StepValues(Source& source);
  absl::Status CheckChunks(const Source& source) const;
  absl::Status Emit();
  absl::Status EmitRow(std::uint64_t row);
  absl::StatusOr<ValuePlace> Gather(const std::vector<Pieces>& pieces,
                                    std::vector<RowPlace>* places);
  absl::Status AddRow(std::uint64_t row, const ValuePlace& extent,
                      const std::vector<RowPlace>& places, const Pieces& pieces,
                      const std::vector<std::string_view>& kept);
  void AddBounds();
  void DropSources();
  std::string_view KeptValue(const Column& column, const Source& source,
                             std::uint64_t row) const;
  const Source& SourceOf(const Column& column) const;
  std::uint64_t rows() const { return sources_.front().array.rows(); }

  const std::string object_;
  FileView view_;
  const std::vector<Column>& columns_;
  base::WorkingMemory* const memory_;
  Part part_ = Part::kList;
  // The objects that are samples; none if rows are.
  std::string group_;
  GroupObjects objects_;
  std::size_t entry_ = 0;  // that it looks at
  std::vector<Source> sources_;
  std::size_t source_ = 0;  // that it looks at
  std::optional<ChunkWalk> chunk_walk_;
  std::optional<RowReader> row_reader_;
  records::FileRecords found_;
  Pieces gathered_;                 // those of the row that was gathered last
  std::uint64_t gathered_end_ = 0;  // of all such rows; 0 if there is none
  records::KeyPacker keys_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_HDF5_PARSER_H_
