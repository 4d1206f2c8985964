#ifndef FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_

#include <optional>
#include <string>
#include <string_view>

namespace forebay::storage::local {

// The type of a mounted file system, and where its files are.
struct Mount {
  std::string type;    // "nfs4"
  std::string source;  // "server:/export"
};

// Returns the mount of the device "major:minor" in the text of a
// /proc/PID/mountinfo. Of several, returns the one whose source comes first in
// the alphabet, in whichever order they were made. Returns nullopt if there is
// none. Source: proc(5).
std::optional<Mount> FindMount(std::string_view mountinfo,
                               std::string_view device);

// Returns whether its files lie on other hosts, and its source always names the
// same files. That excludes mounts through FUSE: their source may be any word,
// and the numbers of files change with each mount.
bool IsNetworkFileSystem(const Mount& mount);

// Returns the mount that an open directory lies in; the process that opened it
// may know another. Returns nullopt if this process has no such mount. Blocks
// for /proc alone.
std::optional<Mount> MountOf(int directory);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_
