#ifndef FOREBAY_SERVER_DATASET_FOLDER_REVALIDATION_H_
#define FOREBAY_SERVER_DATASET_FOLDER_REVALIDATION_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "server/dataset/folder/folder_index.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset::folder {

// Limits on the number of files that are checked before a stored index is
// used. `local` is for file systems on this host, and `remote` for those where
// each stat may go to another host.
struct RevalidationLimits {
  std::uint64_t local = 16384;
  std::uint64_t remote = 512;

  // Returns `local` if the root's file system is on this host, otherwise
  // `remote`.
  std::uint64_t Of(const storage::local::LocalRoot& root) const {
    return root.on_this_host() ? local : remote;
  }
};

// Whether `root` still is as `index` describes it. Every directory must have
// the inode and the times that it had when it was scanned. Then nothing was
// added, removed or renamed. A directory's times do not show files that changed
// in place. So some files, evenly spread, must have the sizes and times in the
// index. Their number is limited by `limits`. Other files are checked when they
// are read. If a file changed, adds a sentence to `warnings`. Also returns
// false if `stop` is requested before the end. Thread-safe. Blocks for the
// disk: opens each directory, and stats each checked file.
bool IsUnchanged(const storage::local::LocalRoot& root,
                 const FolderIndex& index, const std::stop_token& stop,
                 std::vector<std::string>* warnings,
                 const RevalidationLimits& limits = {});

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_REVALIDATION_H_
