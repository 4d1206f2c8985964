#ifndef FOREBAY_SERVER_STORAGE_LOCAL_CROSSINGS_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_CROSSINGS_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::storage::local {

// The directories beneath a root in which files lie on other file systems,
// because of links or mount points. The table has directories, not files, since
// files of one directory mostly lie together.
//
// Thread-safe. The root owns it. Never blocks. No errors: once the table has
// kMost directories, all others count as crossing, too.
class Crossings {
 public:
  // The most directories in the table. The limit bounds the memory that a
  // client's links can take.
  static constexpr std::size_t kMost = 16'384;

  // Whether a file of the object's directory is known to lie on another file
  // system.
  bool Contains(std::string_view object) const;

  // Notes that the path of the file leaves the root's file system.
  void Add(std::string_view object);

 private:
  // Whether the table has any directory. If not, Contains does not lock
  // `mutex_`.
  std::atomic<bool> any_ = false;
  mutable base::Mutex mutex_;
  std::set<std::string, std::less<>> directories_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_CROSSINGS_H_
