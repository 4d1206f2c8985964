#ifndef FOREBAY_SERVER_DATASET_MANIFEST_FILE_PATHS_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_FILE_PATHS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace forebay::dataset::manifest {

// A function that looks for another name of the root, such as a link to it, at
// the start of an absolute path. Returns that start of the path, or "" if no
// start of the path names the root. May block for the file system.
using FindRoot = std::function<std::string(const std::string& path)>;

// Turns the paths of a manifest's files into paths below its root. Relative
// paths start at the manifest's folder. Absolute paths and file:// URLs must
// lie in the root.
//
// Not thread-safe; owns what it stores. Blocks as FindRoot does. Errors do not
// name the path.
class FilePaths {
 public:
  // Files must lie below `root`, an absolute path without a slash at its end.
  // If `root` is empty, paths must be relative. `folder` is the manifest's
  // folder below the root, with a slash at its end, or empty. `find_root` may
  // be null.
  FilePaths(std::string root, std::string folder, FindRoot find_root)
      : folder_(std::move(folder)), find_root_(std::move(find_root)) {
    if (!root.empty()) roots_.push_back(std::move(root));
  }

  // Returns the part of `path` below the root. DATA_LOSS: `path` is empty or
  // contains a zero byte. INVALID_ARGUMENT: `path` is a malformed file:// URL,
  // or names another host. PERMISSION_DENIED: `path` does not lie in the root.
  absl::StatusOr<std::string> Below(const std::string& path);

 private:
  // Returns the part of `path` below one of roots_, or "" if `path` is not
  // below any of them.
  std::string BelowRoots(const std::string& path) const;

  const std::string folder_;
  const FindRoot find_root_;
  std::vector<std::string> roots_;  // absolute paths that name the root
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_FILE_PATHS_H_
