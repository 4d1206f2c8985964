#ifndef FOREBAY_SERVER_DATASET_MANIFEST_FILE_PATHS_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_FILE_PATHS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace forebay::dataset::manifest {

// Returns the part of an absolute path that names the root in another way, such
// as by a link to it. Returns "" if there is none. May block.
using FindRoot = std::function<std::string(const std::string& path)>;

// Turns the paths of a manifest's files into paths below its root. Relative
// paths start at the manifest's folder. Absolute paths and file:// URLs must
// lie in the root.
//
// Not thread-safe. Blocks as FindRoot does.
class FilePaths {
 public:
  // `root` is the root's absolute path, without a slash at its end. If empty,
  // no path may be absolute. `folder` is the manifest's folder below the root,
  // with a slash at its end, or empty. `find_root` may be null.
  FilePaths(std::string root, std::string folder, FindRoot find_root)
      : folder_(std::move(folder)), find_root_(std::move(find_root)) {
    if (!root.empty()) roots_.push_back(std::move(root));
  }

  // DATA_LOSS: it is no path; PERMISSION_DENIED: it is not in the root.
  absl::StatusOr<std::string> Below(const std::string& path);

 private:
  std::string BelowRoots(const std::string& path) const;

  const std::string folder_;
  const FindRoot find_root_;
  std::vector<std::string> roots_;  // known names of the root
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_FILE_PATHS_H_
