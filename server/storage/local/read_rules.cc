#include "server/storage/local/read_rules.h"

#include <errno.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/local/errors.h"
#include "server/storage/local/file_stat.h"

namespace forebay::storage::local {
namespace {

// Whether the file's inode or ctime is the one wanted. A wanted 0 is unknown,
// and matches any.
template <typename Number>
bool Agree(Number wanted, Number now) {
  return wanted == 0 || wanted == now;
}

absl::Status Changed(const ReadRequest& request) {
  return FileError(absl::StatusCode::kFailedPrecondition, request.object,
                   "was replaced or changed since the dataset was indexed");
}

}  // namespace

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

absl::StatusOr<Revision> CheckVersion(const LocalRoot& root,
                                      const ReadRequest& request, int file,
                                      const struct stat& stat) {
  const FileStat now = ToFileStat(stat);
  if (now.type != FileType::kRegular)
    return FileError(
        absl::StatusCode::kInvalidArgument, request.object,
        absl::StrCat("is a ", std::string(FileTypeName(stat.st_mode)),
                     ", not a regular file"));
  Revision revision = root.RevisionOfOpen(file, stat);
  const Revision& wanted = request.version.revision;
  if (now.size != request.version.size ||
      now.mtime_nanos != request.version.stamp ||
      !Agree(wanted.inode, revision.inode))
    return Changed(request);
  if (!Agree(wanted.ctime_nanos, revision.ctime_nanos))
    return FileError(absl::StatusCode::kAborted, request.object,
                     "was touched since the dataset was indexed");
  revision.transaction_id = wanted.transaction_id;
  return revision;
}

absl::StatusOr<Revision> CheckOpenFile(const ReadRequest& request, int file,
                                       struct stat* stat) {
  if (fstat(file, stat) != 0) return FileError(errno, request.object);
  FOREBAY_ASSIGN_OR_RETURN(const LocalRoot* const root, LocalRootOf(request));
  return CheckVersion(*root, request, file, *stat);
}

absl::Status CheckTransactionId(const ReadRequest& request,
                                const ObjectLayout::ReadPart& read) {
  const std::uint64_t wanted = request.version.revision.transaction_id;
  if (wanted == 0 || request.layout == nullptr) return absl::OkStatus();
  if (request.layout->FindTransactionId(read) == wanted)
    return absl::OkStatus();
  return Changed(request);
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
