#ifndef FOREBAY_SERVER_STORAGE_LOCAL_FILE_STAT_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_FILE_STAT_H_

#include <sys/stat.h>

#include <cstdint>
#include <string_view>

#include "server/storage/byte_source.h"

namespace forebay::storage::local {

enum class FileType { kRegular, kDirectory, kOther };

// The facts about a file that a scan of a directory keeps.
struct FileStat {
  FileType type = FileType::kOther;
  std::uint64_t size = 0;  // bytes
  std::int64_t mtime_nanos = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  // The revision. Empty if the file's file system was not asked for it.
  Revision revision = {};

  // Returns the version that a read of this file must find.
  ObjectVersion version() const { return {size, mtime_nanos, revision}; }
};

// Returns the facts, without the revision.
FileStat ToFileStat(const struct stat& stat);

// Returns the file's type as a word for messages, such as "FIFO" or
// "directory". `mode` is that of struct stat.
std::string_view FileTypeName(mode_t mode);

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_FILE_STAT_H_
