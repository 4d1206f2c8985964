#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_FILE_STATUS_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_FILE_STATUS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/message.h"

namespace forebay::storage::webhdfs {

// A file or folder, as its cluster tells of it.
struct FileStatus {
  enum class Kind { kFile, kFolder, kOther };

  std::string name;  // in its folder; "" if it was asked for by its path
  Kind kind = Kind::kOther;
  // The stamp is made of the file's number, which no other file ever has, and
  // of its time of modification.
  ObjectVersion version;
};

// A folder's list, or a part of it.
struct FolderList {
  std::vector<FileStatus> entries;
  std::int64_t remaining = 0;  // entries that follow; 0: this is all
};

// Parse answers to GETFILESTATUS, LISTSTATUS and LISTSTATUS_BATCH. DATA_LOSS
// says why an answer is none.
absl::StatusOr<FileStatus> ParseFileStatus(std::string_view json);
absl::StatusOr<FolderList> ParseFolder(std::string_view json);

// Returns the error of an answer that is no success, with http::ErrorOf's
// codes: by the exception that it names, since many have status 403.
absl::Status FaultOf(const http::Answer& answer);

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_FILE_STATUS_H_
