#include "server/storage/local/errors.h"

#include <errno.h>

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::storage::local {
namespace {

absl::string_view ToAbsl(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

// Returns the code for an errno, as ByteSource's contract says.
absl::StatusCode CodeOf(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
      return absl::StatusCode::kPermissionDenied;
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// Returns what an errno means to the user, and what helps.
std::string ReasonOf(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "there is no such file or directory";
    case ENOTDIR:
      return "a part of this path is not a directory";
    case EACCES:
    case EPERM:
      return "the file system denies reading it";
    case ELOOP:
      return "too many links lead to one another";
    case ENOSYS:
      return "the daemon may not call openat2: the kernel is older than 5.6, "
             "or "
             "a seccomp filter forbids it";
    case EMFILE:
      return std::string(
          base::ErrnoStatus(error_number, "the daemon can open no further file")
              .message());
    case ENFILE:
      return "the host can open no further file (sysctl fs.file-max raises the "
             "limit)";
    case ENXIO:
      return "is a socket or device, not a regular file";
    default:
      return std::generic_category().message(error_number);
  }
}

}  // namespace

absl::Status FileError(absl::StatusCode code, std::string_view path,
                       std::string_view reason) {
  return absl::Status(code, absl::StrCat(path.empty() ? "." : ToAbsl(path),
                                         ": ", ToAbsl(reason)));
}

absl::Status FileError(int error_number, std::string_view path) {
  return FileError(CodeOf(error_number), path, ReasonOf(error_number));
}

}  // namespace forebay::storage::local
