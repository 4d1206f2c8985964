#ifndef FOREBAY_TOOLS_FOREBAYCTL_RUNTIME_DIR_H_
#define FOREBAY_TOOLS_FOREBAYCTL_RUNTIME_DIR_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace forebay::ctl {

// Returns the value of an environment variable; empty: unset.
using Environment = std::function<std::string(const std::string&)>;

// Returns the directory of the daemon's sockets: `option` if not empty, else
// $FOREBAY_RUNTIME_DIR, else `system_dir` if a daemon of this user or of root
// has its socket there, else $XDG_RUNTIME_DIR/forebay if that
// variable's directory is there, else /tmp/forebay-UID.
// Thread-safe; blocks for file I/O; cannot fail.
std::string FindRuntimeDir(const std::string& option,
                           const Environment& environment,
                           const std::string& system_dir = "/run/forebay");

// Returns OK if `directory` belongs to this user or to root, and only its owner
// may write there: then no other user can have put a socket in it. NOT_FOUND:
// it does not exist.
absl::Status CheckOwner(const std::string& directory);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_RUNTIME_DIR_H_
