#include "server/storage/local/file_stat.h"

#include "server/storage/local/revision_parts.h"

namespace forebay::storage::local {

FileStat ToFileStat(const struct stat& stat) {
  FileStat result;
  if (S_ISREG(stat.st_mode)) result.type = FileType::kRegular;
  if (S_ISDIR(stat.st_mode)) result.type = FileType::kDirectory;
  result.size = stat.st_size;
  result.mtime_nanos = NanosOf(stat.st_mtim);
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
