#ifndef FOREBAY_SERVER_DATASET_HDF5_TREE_H_
#define FOREBAY_SERVER_DATASET_HDF5_TREE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/array_layout.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/object_header.h"

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

// The objects in a group, by their names.
struct GroupObjects {
  std::vector<GroupEntry> entries;
  base::MemoryReservation reservation;  // for these
};

// Returns the objects in the group of that path, and counts them in the file's
// memory. NOT_FOUND: there is none. Errors name the path.
absl::StatusOr<GroupObjects> ListGroup(FileView& file, std::string_view path);

// As FindArray. If the path is a pattern, it is the dataset of the group's
// first object, as one row, and has the pattern for its path.
absl::StatusOr<FoundArray> FindFirstArray(FileView& file,
                                          const std::string& path);

// A dataset that was listed.
struct ListedArray {
  std::string path;
  // UNIMPLEMENTED: it cannot be read. Datasets with several paths share it.
  absl::StatusOr<std::shared_ptr<const ArrayLayout>> array;
};

// Lists all datasets of a file, object by object, and goes on where it lacked
// bytes. Used by one thread; owns what it finds and counts it in the memory,
// which outlives it; never blocks. Errors: those of FileView and ReadLinks;
// DATA_LOSS: a dataset is damaged; UNIMPLEMENTED: there are too many objects.
class ArrayLister {
 public:
  explicit ArrayLister(base::WorkingMemory* memory) : memory_(memory) {}
  ~ArrayLister() { memory_->Shrink(counted_); }
  ArrayLister(const ArrayLister&) = delete;
  ArrayLister& operator=(const ArrayLister&) = delete;

  // Goes to the end. Can be called again after UNAVAILABLE with the same file,
  // which has forgotten nothing since.
  absl::Status Run(FileView& file);
  // By their paths; known at the end.
  const std::vector<ListedArray>& found() const { return found_; }

 private:
  struct Object {
    std::string path;
    std::uint64_t address = 0;
    std::size_t depth = 0;
  };

  // Looks at the last pending object, and takes it off.
  absl::Status Step(FileView& file);
  absl::Status AddLinks(FileView& file, const Object& group,
                        const std::vector<Message>& messages);
  absl::Status AddArray(const FileView& file, const Object& object,
                        const std::vector<Message>& messages);
  absl::Status Count(std::uint64_t bytes);

  base::WorkingMemory* const memory_;
  std::uint64_t counted_ = 0;  // bytes
  bool has_begun_ = false;
  std::vector<Object> pending_;
  std::size_t objects_ = 0;         // that it ever was to look at
  std::set<std::uint64_t> groups_;  // addresses
  // By address.
  std::map<std::uint64_t, std::shared_ptr<const ArrayLayout>> arrays_;
  std::vector<ListedArray> found_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_TREE_H_
