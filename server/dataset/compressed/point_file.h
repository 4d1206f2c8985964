#ifndef FOREBAY_SERVER_DATASET_COMPRESSED_POINT_FILE_H_
#define FOREBAY_SERVER_DATASET_COMPRESSED_POINT_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/index_file.h"
#include "server/dataset/own_file.h"
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/file_points.h"
#include "server/storage/object_lister.h"

// The file in which the daemon stores a dataset's access points, with the
// window or piece of each point (storage/compressed/access_point.h). The file
// has three parts: the windows and pieces, concatenated; a table with
// everything else about the points (index_file.h); and the table's length
// (u64). Opening such a file reads only the table and its length.

namespace forebay::dataset::compressed {

using PointsPtr = std::shared_ptr<const storage::compressed::FilePoints>;

// Stores access points while a dataset is scanned. Their windows and pieces go
// to a file, or to memory if the file cannot be created or written.
//
// Used by one thread. Owns the file until it is complete. Blocks for the disk.
// Errors of the disk name the file. RESOURCE_EXHAUSTED: `memory` cannot grow,
// or pieces would take too much of the disk.
class PointFileWriter {
 public:
  // Pieces take at most a quarter of the bytes that are free on the disk when
  // the file is created.
  static constexpr std::uint64_t kDiskPart = 4;

  // Writes to the file at `path`. If `path` is empty, windows and pieces stay
  // in memory. `memory` counts the points, and outlives the writer.
  PointFileWriter(std::string path, base::WorkingMemory* memory)
      : path_(std::move(path)), memory_(memory) {}

  // Stores a window, in the form that storage::compressed::CompressOrStore
  // returns. Returns the window's offset in the concatenated windows and
  // pieces.
  absl::StatusOr<std::uint64_t> Add(std::string_view window);
  // Stores a piece, in the same form as a window. Returns the piece's offset in
  // the concatenated windows and pieces.
  absl::StatusOr<std::uint64_t> AddPiece(std::string_view piece);

  // Completes the file, and returns the access points of `files`.
  // `compressed_files` has the points of each compressed file. Returns null if
  // no file is compressed. The points get their own reservation from `memory`.
  absl::StatusOr<PointsPtr> Finish(
      absl::Span<const storage::ListedObject> files,
      std::vector<std::optional<storage::compressed::DecompressedFile>>
          compressed_files);

 private:
  // Moves all windows and pieces from the file into memory, and deletes the
  // file.
  absl::Status MoveToMemory();
  // Appends the table to the file, and puts the file under its path.
  absl::StatusOr<std::shared_ptr<const storage::compressed::PointWindows>> Keep(
      const storage::compressed::FilePointsParts& parts);

  const std::string path_;
  base::WorkingMemory* const memory_;
  bool begun_ = false;
  std::optional<NewOwnFile> file_;
  std::uint64_t room_for_pieces_ = 0;  // bytes that pieces may still take
  std::string windows_;  // windows and pieces, if there is no file
};

// Loads the points in the file at `path`. The points get their own reservation
// from `memory`. Thread-safe; blocks for the disk. NOT_FOUND: there is no file.
// DATA_LOSS: the file is damaged, or has another version of the file format.
// Others: those of OpenOwnFile.
absl::StatusOr<PointsPtr> LoadPoints(const std::string& path,
                                     base::WorkingMemory& memory);

// A function that loads the access points of an index. Called only if the index
// has access points.
using FindPoints = std::function<absl::StatusOr<PointsPtr>()>;

// Appends the digest of `points` to `bytes`, the content of an index file.
// Appends nothing if `points` is null, since no file is compressed.
void AppendPoints(std::string& bytes, const PointsPtr& points);
// Takes the digest that AppendPoints wrote at the end of the index file.
// Returns the access points, which `find` loads, or null if no file is
// compressed. DATA_LOSS: the points have another digest, or the file is
// damaged. Others: those of `find`.
absl::StatusOr<PointsPtr> TakePoints(IndexFileReader& file,
                                     const FindPoints& find);

}  // namespace forebay::dataset::compressed

#endif  // FOREBAY_SERVER_DATASET_COMPRESSED_POINT_FILE_H_
