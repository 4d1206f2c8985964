#ifndef FOREBAY_SERVER_DAEMON_RUNTIME_DIR_H_
#define FOREBAY_SERVER_DAEMON_RUNTIME_DIR_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::daemon {

// The directory of the daemon's sockets, and the lock that makes this process
// the only daemon there. Immutable and thread-safe. The object owns the lock.
// Only Open blocks, for file I/O, and has errors.
class RuntimeDir {
 public:
  // Opens and locks the directory at `path`, after creating it (mode 0700) if
  // it does not exist. An empty path means the first of these that is set:
  // $FOREBAY_RUNTIME_DIR, systemd's $RUNTIME_DIRECTORY,
  // $XDG_RUNTIME_DIR/forebay (if $XDG_RUNTIME_DIR exists), and
  // /tmp/forebay-UID.
  //
  // ALREADY_EXISTS: another daemon runs there. PERMISSION_DENIED: another user
  // owns the directory, or other users may access it. FAILED_PRECONDITION: it
  // is not a directory. Other errors are those of the file system. Messages
  // name the path.
  static absl::StatusOr<RuntimeDir> Open(std::string path);

  const std::string& path() const { return path_; }
  std::string SessionSocket() const { return path_ + "/session.sock"; }
  std::string AdminSocket() const { return path_ + "/admin.sock"; }

  // Returns the descriptor that holds the lock, which this object owns.
  int lock() const { return lock_.get(); }

 private:
  RuntimeDir(std::string path, base::Fd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::Fd lock_;
};

// Returns the directory of dataset indexes: the first of `configured`,
// $STATE_DIRECTORY/index, $XDG_CACHE_HOME/forebay/index and
// ~/.cache/forebay/index that is set. Returns "" if none of them is set and
// $HOME is not set either.
std::string IndexDirectory(const std::string& configured);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_RUNTIME_DIR_H_
