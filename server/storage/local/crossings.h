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

// The directories beneath a root whose files lie on other file systems, through
// links or mount points. The table goes by directory, since files of one mostly
// lie together.
//
// Thread-safe. Never blocks. No errors. Once the table has kMost directories,
// all others count as crossing, too.
class Crossings {
 public:
  static constexpr std::size_t kMost = 16'384;

  // Returns whether a file of the object's directory is known to lie on another
  // file system.
  bool Contains(std::string_view object) const;

  // The way to the file leaves the root's file system.
  void Add(std::string_view object);

 private:
  std::atomic<bool> any_ = false;
  mutable base::Mutex mutex_;
  std::set<std::string, std::less<>> directories_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_CROSSINGS_H_
