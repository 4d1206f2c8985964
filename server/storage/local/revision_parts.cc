#include "server/storage/local/revision_parts.h"

#include <linux/magic.h>
#include <sys/vfs.h>

namespace forebay::storage::local {
namespace {

constexpr std::uint64_t kXfs = 0x58465342;  // not in linux/magic.h

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
  if (const auto known = Find(device); known.has_value()) return *known;
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
  const auto known = parts_.find(device);
  if (known == parts_.end()) return std::nullopt;
  return known->second;
}

}  // namespace forebay::storage::local
