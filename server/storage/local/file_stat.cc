#include "server/storage/local/file_stat.h"

namespace forebay::storage::local {

FileStat ToFileStat(const struct stat& stat) {
  FileStat result;
  if (S_ISREG(stat.st_mode)) result.type = FileType::kRegular;
  if (S_ISDIR(stat.st_mode)) result.type = FileType::kDirectory;
  result.size = stat.st_size;
  // Unsigned: a file's time may be any number, and only has to be compared.
  result.mtime_nanos = static_cast<std::int64_t>(
      static_cast<std::uint64_t>(stat.st_mtim.tv_sec) * 1'000'000'000 +
      static_cast<std::uint64_t>(stat.st_mtim.tv_nsec));
  result.device = stat.st_dev;
  result.inode = stat.st_ino;
  return result;
}

std::string_view FileTypeName(mode_t mode) {
  if (S_ISREG(mode)) return "regular file";
  if (S_ISDIR(mode)) return "directory";
  if (S_ISFIFO(mode)) return "FIFO";
  if (S_ISSOCK(mode)) return "socket";
  if (S_ISCHR(mode)) return "character device";
  if (S_ISBLK(mode)) return "block device";
  return "special file";
}

}  // namespace forebay::storage::local
