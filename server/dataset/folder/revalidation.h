#ifndef FOREBAY_SERVER_DATASET_FOLDER_REVALIDATION_H_
#define FOREBAY_SERVER_DATASET_FOLDER_REVALIDATION_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "server/dataset/folder/folder_index.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset::folder {

// How many files are checked, at most, before an index is used again: on a disk
// of this host, and where each stat may go to another host.
struct RevalidationLimits {
  std::uint64_t local = 16384;
  std::uint64_t remote = 512;

  std::uint64_t Of(const storage::local::LocalRoot& root) const {
    return root.on_this_host() ? local : remote;
  }
};

// Whether `root` still is as `index` says. Every directory must be the very one
// that was scanned, with the same times: nothing was added, removed or renamed.
// Directories do not show files that changed in place. So as many files as
// `limits` says, spread evenly, must have their sizes and times; the others are
// checked when they are read. If a file changed, adds a sentence to `warnings`.
// Returns false, too, if `stop` is requested before the end. Thread-safe;
// blocks for the disk, for one open a directory and one stat a file.
bool IsUnchanged(const storage::local::LocalRoot& root,
                 const FolderIndex& index, const std::stop_token& stop,
                 std::vector<std::string>* warnings,
                 const RevalidationLimits& limits = {});

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_REVALIDATION_H_
