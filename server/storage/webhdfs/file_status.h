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
  // Whether the server tells the number. Some gateways do not: another file of
  // the same size and time has the same version, unless their checksums are a
  // part of it.
  bool has_number = false;
};

// Returns the version of a file whose server tells no number, and this
// checksum.
ObjectVersion VersionByChecksum(const FileStatus& status,
                                std::string_view checksum);

// A folder's list, or a part of it.
struct FolderList {
  std::vector<FileStatus> entries;
  std::int64_t remaining = 0;  // entries that follow; 0: this is all
};

// Parse answers to GETFILESTATUS, LISTSTATUS and LISTSTATUS_BATCH. DATA_LOSS
// says why an answer is none. ParseFolder returns INVALID_ARGUMENT for a file.
absl::StatusOr<FileStatus> ParseFileStatus(std::string_view json);
absl::StatusOr<FolderList> ParseFolder(std::string_view json);
// Parses an answer to GETFILECHECKSUM. Returns the checksum as the server
// writes it, with its algorithm; "" if the file has none.
absl::StatusOr<std::string> ParseChecksum(std::string_view json);

// Returns the URL that a name node leads to, which is a data node's. Errors:
// those of FaultOf, INVALID_ARGUMENT (it leads to no web server).
absl::StatusOr<std::string> DataNodeOf(const http::Answer& answer);

// Returns the error of an answer that is no success, with http::ErrorOf's
// codes: by the exception that it names, since many have status 403.
absl::Status FaultOf(const http::Answer& answer);

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_FILE_STATUS_H_
