#include "server/dataset/index_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay::dataset {
namespace {

constexpr std::uint64_t kDiskPart = 2;
constexpr std::string_view kDigits = "0123456789abcdef-";
// Of names of indexes. Access points have a further ending, as has a file that
// is being written.
constexpr std::string_view kEndings[] = {".index", ".npys", ".records",
                                         ".shards", ".zips"};

struct KeptFile {
  std::string name;
  std::pair<std::int64_t, std::int64_t> used;  // seconds and nanoseconds
  std::uint64_t bytes = 0;
};

bool IsIndex(std::string_view name) {
  const std::string_view rest =
      name.substr(std::min(name.find_first_not_of(kDigits), name.size()));
  return rest.size() < name.size() &&
         std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) {
                       return rest.starts_with(ending) &&
                              (rest.size() == ending.size() ||
                               rest[ending.size()] == '.');
                     });
}

// Returns the indexes in an open directory, the last used one first.
std::vector<KeptFile> FilesIn(DIR* directory) {
  std::vector<KeptFile> files;
  while (const dirent* const entry = readdir(directory)) {
    struct stat stat = {};
    if (!IsIndex(entry->d_name) ||
        fstatat(dirfd(directory), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) !=
            0 ||
        !S_ISREG(stat.st_mode)) {
      continue;
    }
    files.push_back(
        {entry->d_name,
         std::max(std::pair(stat.st_atim.tv_sec, stat.st_atim.tv_nsec),
                  std::pair(stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec)),
         static_cast<std::uint64_t>(stat.st_size)});
  }
  std::sort(
      files.begin(), files.end(),
      [](const KeptFile& a, const KeptFile& b) { return a.used > b.used; });
  return files;
}

std::unique_ptr<DIR, int (*)(DIR*)> Open(const std::string& directory) {
  return {opendir(directory.c_str()), &closedir};
}

}  // namespace

std::uint64_t RoomInIndexFolder(const std::string& directory) {
  const auto opened = Open(directory);
  struct statvfs disk = {};
  if (opened == nullptr || fstatvfs(dirfd(opened.get()), &disk) != 0)
    return UINT64_MAX;
  std::uint64_t bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  for (const KeptFile& file : FilesIn(opened.get())) bytes += file.bytes;
  return bytes / kDiskPart;
}

void TrimIndexFolder(const std::string& directory, std::uint64_t most_bytes) {
  const auto opened = Open(directory);
  if (opened == nullptr) return;
  const std::vector<KeptFile> files = FilesIn(opened.get());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    bytes += files[i].bytes;
    if (i > 0 && bytes > most_bytes)
      (void)unlinkat(dirfd(opened.get()), files[i].name.c_str(), 0);
  }
}

}  // namespace forebay::dataset
