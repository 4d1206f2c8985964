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

// Which of a file's marks a file system keeps true, from one mount to the next.
struct RevisionParts {
  bool inode = false;
  bool ctime = false;

  bool operator==(const RevisionParts&) const = default;
};

// By its magic number, as statfs(2) tells it: inode and ctime on ext2 to ext4,
// xfs, btrfs, f2fs and tmpfs; the inode on NFS, whose clients keep times for a
// while; neither on others, such as those mounted through FUSE, which number
// files anew.
RevisionParts RevisionPartsOf(std::uint64_t magic);

// Nanoseconds since the epoch. Unsigned in between: a file's time may be any
// number, and only has to be compared.
std::int64_t NanosOf(const timespec& time);

// What a file with that stat is told apart by.
Revision RevisionOf(const struct stat& stat, const RevisionParts& parts);

// The file systems that lie beneath a directory, by the devices that their
// files say. Thread-safe; never forgets. Learn makes one system call for a
// device that is new. No errors: nothing is told of what cannot be asked.
class RevisionPartsByDevice {
 public:
  // Of a file that is open.
  RevisionParts Learn(int file, std::uint64_t device);
  // Nullopt: no file of the device was learned.
  std::optional<RevisionParts> Find(std::uint64_t device) const;

 private:
  mutable base::Mutex mutex_;
  std::map<std::uint64_t, RevisionParts> parts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_REVISION_PARTS_H_
