#include "server/daemon/runtime_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::daemon {
namespace {

// Returns the value of an environment variable; empty if it is not set.
std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the first directory of a list. systemd separates the directories of a
// unit by colons (systemd.exec(5)), and our unit has the daemon's first.
std::string FirstOf(const std::string& list) {
  return list.substr(0, list.find(':'));
}

// Returns the directory that is used if the command line names none.
std::string DefaultPath() {
  if (std::string path = Environment("FOREBAY_RUNTIME_DIR"); !path.empty())
    return path;
  if (std::string path = FirstOf(Environment("RUNTIME_DIRECTORY"));
      !path.empty())
    return path;
  // A container may have inherited the variable without having the directory.
  if (std::string path = Environment("XDG_RUNTIME_DIR");
      !path.empty() && access(path.c_str(), F_OK) == 0)
    return path + "/forebay";
  return absl::StrCat("/tmp/forebay-", geteuid());
}

// Opens a directory. Checks that it belongs to this user and that nobody else
// may use it: whoever can write there could replace the sockets.
absl::StatusOr<base::Fd> OpenPrivate(const std::string& path) {
  // O_NOFOLLOW refuses a symbolic link, which any user could have made in /tmp.
  base::Fd directory(
      open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory && errno == ENOTDIR) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a directory"));
  }
  struct stat status;
  if (!directory || fstat(directory.get(), &status) != 0)
    return base::ErrnoStatus(errno, path);
  if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        path, " belongs to user ", status.st_uid,
        " or is open to others: it must be ours alone (chmod 700)"));
  }
  return directory;
}

}  // namespace

// The lock is on a file beside the sockets, because a socket's file cannot be
// locked. The kernel releases the lock however the process ends.
absl::StatusOr<RuntimeDir> RuntimeDir::Open(std::string path) {
  if (path.empty()) path = DefaultPath();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return base::ErrnoStatus(errno, path);
  FOREBAY_ASSIGN_OR_RETURN(const base::Fd directory, OpenPrivate(path));
  const std::string lock_path = path + "/forebayd.lock";
  base::Fd lock(openat(directory.get(), "forebayd.lock",
                       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return base::ErrnoStatus(errno, lock_path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return absl::AlreadyExistsError(
          absl::StrCat("another forebayd already serves ", path));
    }
    return base::ErrnoStatus(errno, lock_path);
  }
  return RuntimeDir(std::move(path), std::move(lock));
}

std::string IndexDirectory(const std::string& configured) {
  if (!configured.empty()) return configured;
  if (std::string path = FirstOf(Environment("STATE_DIRECTORY"));
      !path.empty()) {
    return path + "/index";
  }
  if (std::string path = Environment("XDG_CACHE_HOME"); !path.empty()) {
    return path + "/forebay/index";
  }
  if (std::string path = Environment("HOME"); !path.empty()) {
    return path + "/.cache/forebay/index";
  }
  return "";
}

}  // namespace forebay::daemon
