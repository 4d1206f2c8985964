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

// Indexes may take half of the bytes that would be free on the disk without
// them.
constexpr std::uint64_t kDiskPart = 2;
constexpr std::string_view kDigits = "0123456789abcdef";
// An IndexStore's files begin with a digest of 128 bits, in hexadecimal digits
// (IndexStore::PathOf).
constexpr std::size_t kDigestDigits = 32;

// An index file in the folder.
struct StoredIndex {
  std::string name;
  std::pair<std::int64_t, std::int64_t> used;  // seconds and nanoseconds
  std::uint64_t bytes = 0;
};

// Whether a file is an index, by its name. The names of an IndexStore's files
// begin with a digest. Those of a FolderIndexStore's files begin with the
// numbers that identify the folder.
bool IsIndex(std::string_view name) {
  const std::size_t digits = name.find_first_not_of(kDigits);
  if (digits == name.npos) return false;
  if (digits == kDigestDigits) return name[digits] == '.';
  const std::string_view folder = name.substr(0, name.find(".index"));
  return folder.size() < name.size() && digits > 0 && name[digits] == '-' &&
         folder.find_first_not_of("0123456789abcdef-") == folder.npos;
}

// Returns the indexes in an open directory, the most recently used one first.
std::vector<StoredIndex> FilesIn(DIR* directory) {
  std::vector<StoredIndex> files;
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
  std::sort(files.begin(), files.end(),
            [](const StoredIndex& a, const StoredIndex& b) {
              return a.used > b.used;
            });
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
  for (const StoredIndex& file : FilesIn(opened.get())) bytes += file.bytes;
  return bytes / kDiskPart;
}

void TrimIndexFolder(const std::string& directory, std::uint64_t most_bytes) {
  const auto opened = Open(directory);
  if (opened == nullptr) return;
  const std::vector<StoredIndex> files = FilesIn(opened.get());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    bytes += files[i].bytes;
    if (i > 0 && bytes > most_bytes)
      (void)unlinkat(dirfd(opened.get()), files[i].name.c_str(), 0);
  }
}

}  // namespace forebay::dataset
