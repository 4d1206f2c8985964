#include "server/storage/local/read_rules.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/storage/local/errors.h"
#include "server/storage/local/file_stat.h"

namespace forebay::storage::local {

absl::StatusOr<const LocalRoot*> LocalRootOf(const ReadRequest& request) {
  const auto* const root = dynamic_cast<const LocalRoot*>(request.root.get());
  if (root == nullptr)
    return FileError(absl::StatusCode::kInvalidArgument, request.object,
                     "lies in no local directory");
  return root;
}

absl::Status CheckRange(const ReadRequest& request) {
  if (request.length <= request.version.size &&
      request.offset <= request.version.size - request.length)
    return absl::OkStatus();
  return FileError(
      absl::StatusCode::kInvalidArgument, request.object,
      absl::StrCat("bytes ", request.offset, " to ",
                   request.offset + request.length, " lie outside its ",
                   request.version.size, " bytes"));
}

absl::Status CheckVersion(const ReadRequest& request, const struct stat& stat) {
  const FileStat now = ToFileStat(stat);
  if (now.type != FileType::kRegular)
    return FileError(
        absl::StatusCode::kInvalidArgument, request.object,
        absl::StrCat("is a ", std::string(FileTypeName(stat.st_mode)),
                     ", not a regular file"));
  if (now.size != request.version.size ||
      now.mtime_nanos != request.version.stamp)
    return FileError(absl::StatusCode::kFailedPrecondition, request.object,
                     "was replaced or changed since the dataset was indexed");
  return absl::OkStatus();
}

absl::Status EndsEarly(const ReadRequest& request, std::uint64_t filled) {
  return FileError(absl::StatusCode::kDataLoss, request.object,
                   absl::StrCat("ends after ", request.offset + filled, " of ",
                                request.version.size, " bytes"));
}

absl::Status ShuttingDown(const ReadRequest& request) {
  return FileError(absl::StatusCode::kCancelled, request.object,
                   "the daemon is shutting down");
}

}  // namespace forebay::storage::local
