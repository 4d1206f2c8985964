#ifndef FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_

#include <optional>
#include <string>
#include <string_view>

namespace forebay::storage::local {

// The type of a mounted file system, and the place of its files.
struct Mount {
  std::string type;    // such as "nfs4"
  std::string source;  // such as "server:/export"
};

// Returns the mount of the device "major:minor" in the text of a
// /proc/PID/mountinfo, whose fields proc(5) describes. If there are several
// such mounts, returns the one whose source comes first in the alphabet, so
// that the order of mounting does not matter. Returns nullopt if there is no
// such mount.
std::optional<Mount> FindMount(std::string_view mountinfo,
                               std::string_view device);

// Whether the mount's files lie on other hosts, and its source always names the
// same files. Mounts through FUSE are excluded: their source may be any word,
// and the numbers of their files change with each mount.
bool IsNetworkFileSystem(const Mount& mount);

// Returns the mount that an open directory lies in, as this process sees it.
// Returns nullopt if this process has no such mount. Blocks only for /proc.
std::optional<Mount> MountOf(int directory);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_
