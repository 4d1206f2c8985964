#ifndef FOREBAY_SERVER_STORAGE_LOCAL_REVISION_PARTS_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_REVISION_PARTS_H_

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::storage::local {

// The parts of a revision that a file system keeps from one mount to the next.
struct RevisionParts {
  bool inode = false;
  bool ctime = false;

  bool operator==(const RevisionParts&) const = default;
};

// Returns the parts for a file system's magic number, as statfs(2) tells it.
// They are inode and ctime on ext2 to ext4, xfs, btrfs, f2fs and tmpfs. NFS has
// the inode alone, since its clients cache times for a while. Other file
// systems have neither, such as those through FUSE, which give files new
// numbers at each mount. Thread-safe; never blocks.
RevisionParts RevisionPartsOf(std::uint64_t magic);

// Returns `time` in nanoseconds since 1970. A file's time may be any number, so
// the computation is unsigned and may wrap around: the result is only compared.
std::int64_t NanosOf(const timespec& time);

// Returns the revision of a file that has `stat`.
Revision RevisionOf(const struct stat& stat, const RevisionParts& parts);

// The revision parts of the file systems beneath a directory, by the devices of
// their files.
//
// Thread-safe. The root owns it. Entries are never removed. Learn makes one
// system call for a new device. No errors: a file system that cannot be asked
// has no parts.
class RevisionPartsByDevice {
 public:
  // Returns the parts of the device of an open file.
  RevisionParts Learn(int file, std::uint64_t device);
  // Returns the parts of a device, or nullopt if Learn has seen no file of it.
  std::optional<RevisionParts> Find(std::uint64_t device) const;

 private:
  mutable base::Mutex mutex_;
  std::map<std::uint64_t, RevisionParts> parts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_REVISION_PARTS_H_
