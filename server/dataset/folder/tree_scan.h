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
  std::string path;  // relative to the root; the root's is empty
  DirectoryStamp stamp;
  // The wanted files, in Python's order of their names, which lie in `names`.
  std::vector<FileRecord> records;
  std::string names;
};

struct ScannedTree {
  std::vector<ScannedDirectory> directories;  // in no order; the root included
  bool has_links = false;
};

// The part of a tree whose files are taken.
enum class TreePart {
  kFolders,  // all but those right in the root
  kRoot,     // those right in the root alone: no other directory is listed
  kAll,
};

// Lists everything beneath `root`, with the directories that links lead to.
// Takes the files in that part that `wanted` picks by their names. Also takes
// what is no regular file, and what stat fails for; its size is 0 if it is not
// known. Reading it will tell.
//
// Works on up to `threads` directories at once, on threads that end before it
// returns; calls `wanted` on several of them at once. Counts what it finds in
// `memory`, where it stays counted. Blocks for the disk, at most until `stop`
// is requested and each thread has ended one system call.
//
// Errors name the path: INVALID_ARGUMENT: a link makes a directory lie within
// itself; PERMISSION_DENIED: a link that may mean a directory leads outside the
// root; RESOURCE_EXHAUSTED: too many directories; others: a directory cannot be
// listed. Errors without a path: CANCELLED: stopped; RESOURCE_EXHAUSTED: that
// of `memory`.
absl::StatusOr<ScannedTree> ScanTree(const storage::local::LocalRoot& root,
                                     bool (*wanted)(std::string_view name),
                                     int threads, base::WorkingMemory& memory,
                                     const std::stop_token& stop,
                                     TreePart part = TreePart::kFolders);

// Returns the stamp of the directory open as `fd`. Errors name `path`.
absl::StatusOr<DirectoryStamp> StampOf(int fd, std::string_view path);

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_TREE_SCAN_H_
