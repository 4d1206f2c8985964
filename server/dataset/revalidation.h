#ifndef FOREBAY_SERVER_DATASET_REVALIDATION_H_
#define FOREBAY_SERVER_DATASET_REVALIDATION_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "server/dataset/index.h"
#include "server/storage/local/local_root.h"

namespace forebay::dataset {

// How many files at most are looked at before an index is used again: those of
// a disk of this host, or where each look may go to another one.
struct RevalidationLimits {
  std::uint64_t local = 16384;
  std::uint64_t remote = 512;

  std::uint64_t Of(const storage::local::LocalRoot& root) const {
    return root.on_this_host() ? local : remote;
  }
};

// Whether every directory of `index` is beneath `root` the very one that was
// scanned, with the same times: nothing was added, removed or renamed. And
// whether the files have the sizes and times that they had: directories do not
// show what was changed in its place. Of more than `limits` says, as many are
// looked at, spread evenly; the others tell when they are read. Where it is a
// file that changed, a sentence is added to `warnings`. Not known, and so
// false, where `stop` is requested before the end. Thread-safe; blocks for the
// disk, for one open a directory and one look a file.
bool IsUnchanged(const storage::local::LocalRoot& root, const Index& index,
                 const std::stop_token& stop,
                 std::vector<std::string>* warnings,
                 const RevalidationLimits& limits = {});

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_REVALIDATION_H_
