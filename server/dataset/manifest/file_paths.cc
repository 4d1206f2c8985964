#include "server/dataset/manifest/file_paths.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/url.h"

namespace forebay::dataset::manifest {

absl::StatusOr<std::string> FilePaths::Below(const std::string& path) {
  if (path.empty()) return absl::DataLossError("the path is empty");
  if (path.find('\0') != path.npos) {
    return absl::DataLossError("the path has a zero byte in it");
  }
  std::string absolute = path;
  if (path.starts_with("file://")) {
    FOREBAY_ASSIGN_OR_RETURN(absolute, storage::http::PathOfFileUrl(path));
  } else if (path.front() != '/' && path.find("://") == path.npos) {
    return absl::StrCat(folder_, path);
  }
  std::string below = BelowRoots(absolute);
  if (below.empty() && find_root_ != nullptr && absolute.front() == '/') {
    // The name of the root is stored, so find_root_ is called once for each
    // name.
    if (std::string root = find_root_(absolute); !root.empty()) {
      roots_.push_back(std::move(root));
      below = BelowRoots(absolute);
    }
  }
  if (!below.empty()) return below;
  return absl::PermissionDeniedError(
      absl::StrCat(path,
                   ": is not in the manifest's folder, which has to hold all "
                   "of its files"));
}

std::string FilePaths::BelowRoots(const std::string& path) const {
  for (const std::string& root : roots_) {
    if (!path.starts_with(root)) continue;
    const std::size_t below = path.find_first_not_of('/', root.size());
    // A slash must follow the root's name: "/data" is not a root of
    // "/database".
    if (below != path.npos && below > root.size()) return path.substr(below);
  }
  return "";
}

}  // namespace forebay::dataset::manifest
