#ifndef FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_

#include <optional>
#include <string>
#include <string_view>

namespace forebay::storage::local {

// What a mounted file system is, and where its files are.
struct Mount {
  std::string type;    // "nfs4"
  std::string source;  // "server:/export"
};

// What lies on the device "major:minor", by the text of a /proc/PID/mountinfo;
// of several mounts of it, that whose source comes first in the alphabet: the
// same one, in whichever order they were made. Nullopt: there is none. Source:
// proc(5).
std::optional<Mount> FindMount(std::string_view mountinfo,
                               std::string_view device);

// Whether its files lie on other hosts, and what it says of its source means
// the same ones always. That leaves out what is mounted through FUSE: there a
// source may be any word, and numbers of files change with each mount.
bool IsNetworkFileSystem(const Mount& mount);

// The one that an open directory lies in; who opened it may know it by another
// mount of its own. Nullopt: this process has no such mount. Blocks for /proc
// alone.
std::optional<Mount> MountOf(int directory);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_MOUNT_H_
