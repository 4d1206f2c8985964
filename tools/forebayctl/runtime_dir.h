#ifndef FOREBAY_TOOLS_FOREBAYCTL_RUNTIME_DIR_H_
#define FOREBAY_TOOLS_FOREBAYCTL_RUNTIME_DIR_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace forebay::ctl {

// Returns the value of an environment variable; empty if it is not set.
using Environment = std::function<std::string(const std::string&)>;

// Returns the directory of the daemon's sockets, the first of:
// - `option`, if not empty;
// - $FOREBAY_RUNTIME_DIR, if set;
// - `system_dir`, if a daemon of this user or of root has its socket there;
// - $XDG_RUNTIME_DIR/forebay, if $XDG_RUNTIME_DIR exists;
// - /tmp/forebay-UID.
// Thread-safe. Blocks for file I/O. Has no errors.
std::string FindRuntimeDir(const std::string& option,
                           const Environment& environment,
                           const std::string& system_dir = "/run/forebay");

// Returns OK if `directory` belongs to this user or to root, and only its owner
// may write there. Then no other user can have put a socket there. NOT_FOUND:
// it does not exist. FAILED_PRECONDITION: it is not a directory.
// PERMISSION_DENIED: others could write there. Blocks for file I/O.
absl::Status CheckOwner(const std::string& directory);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_RUNTIME_DIR_H_
