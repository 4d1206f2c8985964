#include "server/storage/local/revision_parts.h"

#include <linux/magic.h>
#include <sys/vfs.h>

namespace forebay::storage::local {
namespace {

// The magic number of xfs, which linux/magic.h does not have.
constexpr std::uint64_t kXfs = 0x58465342;

}  // namespace

RevisionParts RevisionPartsOf(std::uint64_t magic) {
  switch (magic) {
    case EXT4_SUPER_MAGIC:
    case kXfs:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
      return {.inode = true, .ctime = true};
    case NFS_SUPER_MAGIC:
      return {.inode = true, .ctime = false};
    default:
      return {};
  }
}

std::int64_t NanosOf(const timespec& time) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(time.tv_sec) *
                                       1'000'000'000 +
                                   static_cast<std::uint64_t>(time.tv_nsec));
}

Revision RevisionOf(const struct stat& stat, const RevisionParts& parts) {
  return {.inode = parts.inode ? stat.st_ino : 0,
          .ctime_nanos = parts.ctime ? NanosOf(stat.st_ctim) : 0};
}

RevisionParts RevisionPartsByDevice::Learn(int file, std::uint64_t device) {
  if (const auto parts_before = Find(device); parts_before.has_value())
    return *parts_before;
  struct statfs system;
  if (fstatfs(file, &system) != 0) return {};
  const RevisionParts parts =
      RevisionPartsOf(static_cast<std::uint64_t>(system.f_type));
  base::MutexLock lock(&mutex_);
  parts_[device] = parts;
  return parts;
}

std::optional<RevisionParts> RevisionPartsByDevice::Find(
    std::uint64_t device) const {
  base::MutexLock lock(&mutex_);
  const auto entry = parts_.find(device);
  if (entry == parts_.end()) return std::nullopt;
  return entry->second;
}

}  // namespace forebay::storage::local
