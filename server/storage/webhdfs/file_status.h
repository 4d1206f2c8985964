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

// A file or folder, as its cluster describes it.
struct FileStatus {
  enum class Kind { kFile, kFolder, kOther };

  // The name in its folder; "" if it was asked for by its path.
  std::string name;
  Kind kind = Kind::kOther;
  // The file's version. Its stamp is made of the file's number (fileId), which
  // no other file ever has, and of its time of modification.
  ObjectVersion version;
  // Whether the server tells the number. Some gateways do not: another file of
  // the same size and time then has the same version, unless versions include
  // the files' checksums.
  bool has_number = false;
};

// Returns the version of a file that has this checksum, and whose server tells
// no number.
ObjectVersion VersionByChecksum(const FileStatus& status,
                                std::string_view checksum);

// A folder's list, or a part of it.
struct FolderList {
  std::vector<FileStatus> entries;
  // The number of entries that follow this part; 0 if none do.
  std::int64_t remaining = 0;
};

// Parse answers to GETFILESTATUS, LISTSTATUS and LISTSTATUS_BATCH. DATA_LOSS
// says why an answer is malformed. ParseFolder returns INVALID_ARGUMENT for a
// file. All functions of this header are thread-safe and never block.
absl::StatusOr<FileStatus> ParseFileStatus(std::string_view json);
absl::StatusOr<FolderList> ParseFolder(std::string_view json);
// Parses an answer to GETFILECHECKSUM. Returns the checksum as the server
// writes it, with its algorithm; "" if the file has none.
absl::StatusOr<std::string> ParseChecksum(std::string_view json);

// Returns the URL of the data node to which a name node redirects. Errors are
// those of FaultOf, and INVALID_ARGUMENT if the address is not a web server's.
absl::StatusOr<std::string> DataNodeOf(const http::HttpResponse& answer);

// Returns the error of an answer whose status is not a success, with
// http::ErrorOf's codes. The exception that the answer names decides the code,
// since many exceptions have status 403.
absl::Status FaultOf(const http::HttpResponse& answer);

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_FILE_STATUS_H_
