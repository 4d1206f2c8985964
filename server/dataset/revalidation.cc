#include "server/dataset/revalidation.h"

#include <algorithm>

#include "server/base/fd.h"
#include "server/dataset/tree_scan.h"

namespace forebay::dataset {

bool IsUnchanged(const storage::local::LocalRoot& root, const Index& index,
                 const std::stop_token& stop) {
  const auto& directories = index.parts().directories;
  return std::all_of(
      directories.begin(), directories.end(),
      [&](const IndexDirectory& directory) {
        if (stop.stop_requested()) return false;
        const auto fd = root.OpenDirectory(index.PathOf(directory));
        if (!fd.ok()) return false;
        const auto stamp = StampOf(fd->get(), index.PathOf(directory));
        return stamp.ok() && *stamp == directory.stamp;
      });
}

}  // namespace forebay::dataset
