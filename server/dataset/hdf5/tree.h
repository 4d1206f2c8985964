#ifndef FOREBAY_SERVER_DATASET_HDF5_TREE_H_
#define FOREBAY_SERVER_DATASET_HDF5_TREE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/file_view.h"

// The datasets of a file, by their paths. Functions are thread-safe and never
// block. Besides those of FileView and of what they call, errors are as they
// say.

namespace forebay::dataset::hdf5 {

// A dataset, or the member of its compounds that was asked for.
struct FoundArray {
  std::string path;  // from the root on: "train/images"
  std::string member;
  ArrayLayout array;
};

// Finds the dataset of that path. If it is a compound, the path's last part may
// name a member. NOT_FOUND: there is none, and what there is instead;
// UNIMPLEMENTED: that of ReadArrayLayout, or a link leads to another name or
// file. Errors name the path.
absl::StatusOr<FoundArray> FindArray(FileView& file, std::string_view path);

// As that, from the group at that address on, whose path is `group`.
absl::StatusOr<FoundArray> FindArrayIn(FileView& file, std::uint64_t address,
                                       std::string_view group,
                                       std::string_view path);

// An object in a group.
struct GroupEntry {
  std::string name;
  std::uint64_t address = 0;  // of its header
};

// Returns the objects in the group of that path, by their names. NOT_FOUND:
// there is none. Errors name the path.
absl::StatusOr<std::vector<GroupEntry>> ListGroup(FileView& file,
                                                  std::string_view path);

// As FindArray. If the path is a pattern, it is the dataset of the group's
// first object, as one row, and has the pattern for its path.
absl::StatusOr<FoundArray> FindFirstArray(FileView& file,
                                          const std::string& path);

// A dataset that was listed.
struct ListedArray {
  std::string path;
  absl::StatusOr<ArrayLayout> array;  // UNIMPLEMENTED: it cannot be read
};

// Lists all datasets, by their paths. UNIMPLEMENTED: there are too many
// objects.
absl::StatusOr<std::vector<ListedArray>> ListArrays(FileView& file);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_TREE_H_
