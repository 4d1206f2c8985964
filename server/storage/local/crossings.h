#ifndef FOREBAY_SERVER_STORAGE_LOCAL_CROSSINGS_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_CROSSINGS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::storage::local {

// The directories beneath a root whose files lie on other file systems, through
// links or mount points, and the devices of these as far as reads have found
// them. It is kept by directory, since files of one mostly lie together.
//
// Thread-safe. Never blocks. No errors. When it knows of kMost directories, all
// others count as crossing, too.
class Crossings {
 public:
  static constexpr std::size_t kMost = 16'384;
  // The device of a directory of which no file was opened yet, or whose files
  // lie on several.
  static constexpr std::uint64_t kUnknownDevice = 0;

  // Returns the device of the file's directory; nullopt while no file there is
  // known to lie on another file system.
  std::optional<std::uint64_t> Find(std::string_view object) const;

  // The way to the file leaves the root's file system.
  void Add(std::string_view object);
  // A file whose directory crosses was found on that device.
  void Found(std::string_view object, std::uint64_t device);

 private:
  struct Directory {
    std::uint64_t device = kUnknownDevice;
    bool is_mixed = false;
  };

  std::atomic<bool> any_ = false;
  mutable base::Mutex mutex_;
  std::map<std::string, Directory, std::less<>> directories_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_CROSSINGS_H_
