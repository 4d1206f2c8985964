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

// Finds the datasets of a file by their paths. Functions are used by one
// thread, as the view is, and never block. All of them may also return the
// errors of FileView, ReadMessages and ReadLinks.

namespace forebay::dataset::hdf5 {

// A dataset, or a member of its compounds, that was asked for by path.
struct NamedArray {
  // Path of the dataset from the root on: "train/images".
  std::string path;
  // Name of the member, if the path names a member. Empty if not.
  std::string member;
  ArrayLayout array;
};

// Finds the dataset of a path. If the dataset is a compound, further parts of
// the path name a member. NOT_FOUND: there is no such dataset; the error lists
// the names that there are. UNIMPLEMENTED: ReadArrayLayout cannot read the
// dataset, or a link leads to another path or file. Errors name the path.
absl::StatusOr<NamedArray> FindArray(FileView& file, std::string_view path);

// Finds a dataset as FindArray does, beginning at the group at `address`, whose
// own path is `group`.
absl::StatusOr<NamedArray> FindArrayIn(FileView& file, std::uint64_t address,
                                       std::string_view group,
                                       std::string_view path);

// An object in a group.
struct GroupEntry {
  std::string name;
  // Address of the object's header.
  std::uint64_t address = 0;
};

// The objects in a group, sorted by name.
struct GroupObjects {
  std::vector<GroupEntry> entries;
  // Memory of the entries.
  base::MemoryReservation reservation;
};

// Returns the objects in a group, and counts them in FileView::memory(). Soft
// and external links are left out. NOT_FOUND: there is no such group. Errors
// name the path.
absl::StatusOr<GroupObjects> ListGroup(FileView& file, std::string_view path);

// Finds a dataset as FindArray does. If the path is a pattern, returns the
// dataset of the group's first object. In the result, the whole dataset is one
// row (ArrayLayout::MakeWhole), and `path` is the pattern.
absl::StatusOr<NamedArray> FindFirstArray(FileView& file,
                                          const std::string& path);

// A dataset that ArrayLister has listed, or an object that it cannot read.
struct ListedArray {
  std::string path;
  // The layout. UNIMPLEMENTED: the header or the layout cannot be read.
  // Datasets with several paths share one layout.
  absl::StatusOr<std::shared_ptr<const ArrayLayout>> array;
};

// Lists all datasets of a file, object by object in descending order of their
// names. Resumes where bytes were missing. Lists a group with several paths
// once, under the first path that it comes to. Saved indexes have the paths of
// this order.
//
// Used by one thread. Owns the datasets that it finds. Counts their memory in
// `memory`, which outlives the lister. Never blocks. Errors: those of FileView
// and ReadLinks; DATA_LOSS: a dataset is damaged; UNIMPLEMENTED: there are too
// many objects.
class ArrayLister {
 public:
  // A group below this many groups is not listed.
  static constexpr std::size_t kTooDeep = 32;

  explicit ArrayLister(base::WorkingMemory* memory) : memory_(memory) {}
  ~ArrayLister() { memory_->Shrink(counted_); }
  ArrayLister(const ArrayLister&) = delete;
  ArrayLister& operator=(const ArrayLister&) = delete;

  // Lists all objects. UNAVAILABLE: bytes are missing; the call can be repeated
  // with the same file, provided that FileView::Forget was not called since.
  absl::Status Run(FileView& file);
  // Returns the datasets, sorted by path. Complete once Run has succeeded.
  const std::vector<ListedArray>& datasets() const { return datasets_; }
  // Returns a path of each group that is not listed, because kTooDeep
  // groups are above it on all paths that the lister followed. The keys are the
  // addresses of the groups. Complete once Run has succeeded.
  const std::map<std::uint64_t, std::string>& deep_groups() const {
    return deep_groups_;
  }

 private:
  // An object that is still to be looked at.
  struct Object {
    std::string path;
    std::uint64_t address = 0;
    // Number of groups above the object.
    std::size_t depth = 0;
  };

  // Handles the last pending object, and removes it. Adds a dataset to the
  // result, and the objects of a group to the pending ones.
  absl::Status Step(FileView& file);
  // Adds the objects of a group to the pending ones.
  absl::Status AddLinks(FileView& file, const Object& group,
                        const std::vector<Message>& messages);
  // Adds a dataset to the result.
  absl::Status AddArray(const FileView& file, const Object& object,
                        const std::vector<Message>& messages);
  absl::Status Count(std::uint64_t bytes);

  base::WorkingMemory* const memory_;
  // Bytes that `memory_` counts for this lister.
  std::uint64_t counted_ = 0;
  bool has_begun_ = false;
  std::vector<Object> pending_;
  // Number of objects found by links, limited by kMostObjects.
  std::size_t objects_ = 0;
  // Addresses of the groups that were listed.
  std::set<std::uint64_t> groups_;
  std::map<std::uint64_t, std::string> deep_groups_;
  // Datasets that can be read, by the address of their header.
  std::map<std::uint64_t, std::shared_ptr<const ArrayLayout>> arrays_;
  std::vector<ListedArray> datasets_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_TREE_H_
