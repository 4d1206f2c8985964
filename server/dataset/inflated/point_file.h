#ifndef FOREBAY_SERVER_DATASET_INFLATED_POINT_FILE_H_
#define FOREBAY_SERVER_DATASET_INFLATED_POINT_FILE_H_

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
#include "server/storage/inflated/access_point.h"
#include "server/storage/inflated/file_points.h"
#include "server/storage/object_lister.h"

// The access points of a dataset in a file of the daemon's own: the windows and
// pieces, one behind the other, a table of all else (index_file.h), and its
// length (u64). Opening one reads the table alone.

namespace forebay::dataset::inflated {

using PointsPtr = std::shared_ptr<const storage::inflated::FilePoints>;

// Keeps access points while a dataset is scanned: their windows and pieces in a
// file, or, if that cannot be made or takes no more, in memory.
//
// Used by one thread. Owns the file until it is complete. Blocks for the disk.
// Errors: the disk's, which name the file; RESOURCE_EXHAUSTED: that of the
// memory, or pieces would take too much of the disk.
class PointFileWriter {
 public:
  // Pieces take at most this part of what is free where the file is made.
  static constexpr std::uint64_t kDiskPart = 4;

  // Keeps all in memory if `path` is empty. Counts in `memory`, which outlives
  // it.
  PointFileWriter(std::string path, base::WorkingMemory* memory)
      : path_(std::move(path)), memory_(memory) {}

  // Keeps a window (storage::inflated::PackKept). Returns where.
  absl::StatusOr<std::uint64_t> Add(std::string_view window);
  // So a piece (storage::inflated::PackKept).
  absl::StatusOr<std::uint64_t> AddPiece(std::string_view piece);

  // Returns the points of the files, of which some are compressed; null if none
  // is. Leaves the points their part of the memory.
  absl::StatusOr<PointsPtr> Finish(
      absl::Span<const storage::ListedObject> files,
      std::vector<std::optional<storage::inflated::InflatedFile>> found);

 private:
  // Moves the windows out of the file, and does without it.
  absl::Status MoveToMemory();
  // Completes the file.
  absl::StatusOr<std::shared_ptr<const storage::inflated::Windows>> Keep(
      const storage::inflated::FilePointsParts& parts);

  const std::string path_;
  base::WorkingMemory* const memory_;
  bool begun_ = false;
  std::optional<NewOwnFile> file_;
  std::uint64_t room_for_pieces_ = 0;  // bytes that are left in the file
  std::string windows_;                // without a file
};

// Reads the points of a file. Counts them in `memory`, and leaves them their
// part. NOT_FOUND: there is none. DATA_LOSS: it is damaged or of another
// version of the format. Others: those of OpenOwnFile.
absl::StatusOr<PointsPtr> LoadPoints(const std::string& path,
                                     base::WorkingMemory& memory);

// Finds the points of an index that has some.
using FindPoints = std::function<absl::StatusOr<PointsPtr>()>;

// Appends to an index file by which points its dataset is read: the digest of
// those, or nothing if there are none.
void AppendPoints(std::string& bytes, const PointsPtr& points);
// Takes what AppendPoints wrote, which is the rest of the file, and finds those
// points. Null if there are none. DATA_LOSS: they are others, or the file is
// damaged. Else the errors of `find`.
absl::StatusOr<PointsPtr> TakePoints(IndexFileReader& file,
                                     const FindPoints& find);

}  // namespace forebay::dataset::inflated

#endif  // FOREBAY_SERVER_DATASET_INFLATED_POINT_FILE_H_
