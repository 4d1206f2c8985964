#include "server/storage/local/mount.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

namespace forebay::storage::local {
namespace {

// Takes the text up to the next `end`, and `end` itself, off the front.
std::string_view Take(std::string_view* text, char end) {
  const std::size_t at = std::min(text->find(end), text->size());
  const std::string_view token = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return token;
}

}  // namespace

std::optional<Mount> FindMount(std::string_view mountinfo,
                               std::string_view device) {
  std::optional<Mount> first;
  while (!mountinfo.empty()) {
    std::string_view line = Take(&mountinfo, '\n');
    Take(&line, ' ');  // the mount's number
    Take(&line, ' ');  // its parent's
    if (Take(&line, ' ') != device) continue;
    // A dash ends the optional fields, of which there may be any number.
    while (!line.empty() && Take(&line, ' ') != "-") {
    }
    Mount mount;
    mount.type = Take(&line, ' ');
    mount.source = Take(&line, ' ');
    if (mount.type.empty() || mount.source.empty()) continue;
    if (!first.has_value() || mount.source < first->source) {
      first = std::move(mount);
    }
  }
  return first;
}

bool IsNetworkFileSystem(const Mount& mount) {
  constexpr std::array<std::string_view, 7> kTypes = {
      "nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "beegfs"};
  return std::find(kTypes.begin(), kTypes.end(), mount.type) != kTypes.end();
}

std::optional<Mount> MountOf(int directory) {
  struct stat stat;
  if (fstat(directory, &stat) != 0) return std::nullopt;
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return FindMount(text, std::to_string(major(stat.st_dev)) + ":" +
                             std::to_string(minor(stat.st_dev)));
}

}  // namespace forebay::storage::local
