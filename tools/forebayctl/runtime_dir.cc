#include "tools/forebayctl/runtime_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace forebay::ctl {

std::string FindRuntimeDir(const std::string& option,
                           const Environment& environment,
                           const std::string& system_dir) {
  if (!option.empty()) return option;
  std::string named = environment("FOREBAY_RUNTIME_DIR");
  if (!named.empty()) return named;
  if (access(absl::StrCat(system_dir, "/admin.sock").c_str(), F_OK) == 0 &&
      CheckOwner(system_dir).ok()) {
    return system_dir;
  }
  const std::string session = environment("XDG_RUNTIME_DIR");
  // A container may have inherited the variable without having the directory.
  if (!session.empty() && access(session.c_str(), F_OK) == 0)
    return absl::StrCat(session, "/forebay");
  return absl::StrCat("/tmp/forebay-", getuid());
}

absl::Status CheckOwner(const std::string& directory) {
  struct stat status;
  if (stat(directory.c_str(), &status) != 0) {
    return absl::ErrnoToStatus(errno, directory);
  }
  if (!S_ISDIR(status.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, " is not a directory"));
  }
  if (status.st_uid != getuid() && status.st_uid != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(directory, " belongs to uid ", status.st_uid,
                     ": a daemon there is not trusted"));
  }
  if ((status.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        directory, " can be written by others: a daemon there is not trusted"));
  }
  return absl::OkStatus();
}

}  // namespace forebay::ctl
