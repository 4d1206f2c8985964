#ifndef FOREBAY_SERVER_DATASET_TREE_SCAN_H_
#define FOREBAY_SERVER_DATASET_TREE_SCAN_H_

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/index.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset {

// A directory as it was found.
struct ScannedDirectory {
  std::string path;  // relative to the root; the root's is empty
  DirectoryStamp stamp;
  // The wanted files, in Python's order of their names; offsets into `names`.
  std::vector<IndexRecord> records;
  std::string names;
};

struct ScannedTree {
  std::vector<ScannedDirectory> directories;  // in no order; the root included
  bool has_links = false;
};

// Lists everything beneath `root`, directories that links lead to included,
// and keeps the files that `wanted` picks by their names; those right in the
// root are never wanted. What is no regular file, or cannot be looked at, is
// kept too, with size 0 where it is not known: reading it will tell.
//
// Blocks for the disk, until `stop` is requested at the longest; works on up to
// `threads` directories at once, on threads that end before it returns.
// `wanted` is called on several of them at once. What it finds is counted in
// `memory` before it is kept, and stays so. Errors name the path: a
// directory that cannot be listed, or that lies within itself by a link
// (INVALID_ARGUMENT); a link that leads outside the root and might mean a
// directory (PERMISSION_DENIED); too many directories (RESOURCE_EXHAUSTED).
// Without a path: CANCELLED: it was stopped, one system call of each thread
// later; RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<ScannedTree> ScanTree(const storage::local::LocalRoot& root,
                                     bool (*wanted)(std::string_view name),
                                     int threads, base::WorkingMemory& memory,
                                     const std::stop_token& stop);

// The stamp of the directory open as `fd`; errors name `path`.
absl::StatusOr<DirectoryStamp> StampOf(int fd, std::string_view path);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_TREE_SCAN_H_
