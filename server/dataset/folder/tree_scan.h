#ifndef FOREBAY_SERVER_DATASET_FOLDER_TREE_SCAN_H_
#define FOREBAY_SERVER_DATASET_FOLDER_TREE_SCAN_H_

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/folder/folder_index.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset::folder {

// A directory as the scan found it.
struct ScannedDirectory {
  std::string path;  // relative to the root; the root's path is empty
  DirectoryVersion version;
  // The wanted files, in Python's order of their names. `names` holds the
  // names.
  std::vector<FolderFile> records;
  std::string names;
};

// The result of a scan.
struct ScannedTree {
  // The directories, including the root, in any order.
  std::vector<ScannedDirectory> directories;
  bool has_links = false;
};

// The part of a tree whose files are samples.
enum class TreePart {
  kFolders,  // all files except those directly in the root
  kRoot,     // files directly in the root; no other directory is listed
  kAll,
};

// Lists all directories below `root`, including those that links lead to. Takes
// the files in `part` whose names `wanted` accepts. Also takes entries that are
// not regular files, and entries whose stat fails. If the size is unknown, 0 is
// recorded. Reading such an entry later reports the error.
//
// Lists up to `threads` directories at once, on threads that end before
// ScanTree returns. Several threads may call `wanted` at once. Counts the
// result in `memory`, and leaves it counted there. Blocks for the disk. After
// `stop` is requested, blocks only until each thread has ended its present
// system call.
//
// These errors name the path. INVALID_ARGUMENT: a link leads to a directory
// that contains the link. PERMISSION_DENIED: a link that may lead to a
// directory leads outside the root. RESOURCE_EXHAUSTED: there are too many
// directories. Others: a directory cannot be listed. These errors do not name a
// path. CANCELLED: the scan was stopped. RESOURCE_EXHAUSTED: `memory` cannot
// grow.
absl::StatusOr<ScannedTree> ScanTree(const storage::local::LocalRoot& root,
                                     bool (*wanted)(std::string_view name),
                                     int threads, base::WorkingMemory& memory,
                                     const std::stop_token& stop,
                                     TreePart part = TreePart::kFolders);

// Returns the version of the directory that is open as `fd`. Errors name
// `path`.
absl::StatusOr<DirectoryVersion> VersionOfDirectory(int fd,
                                                    std::string_view path);

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_TREE_SCAN_H_
