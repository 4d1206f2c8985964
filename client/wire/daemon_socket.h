#ifndef FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_
#define FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_

#include <string>

#include "client/base/status.h"
#include "proto/fd.h"

namespace forebay::client::wire {

// Returns the directory of the daemon's socket; see forebay_runtime_dir. No
// other thread may change the environment at the same time.
std::string RuntimeDirectory();

// Connects to the session socket in `directory` (empty: RuntimeDirectory()).
// Checks that the directory, the socket and the process behind it belong to
// this user or to root. Without these checks, another user could pose as the
// daemon in a folder that all users may write to, such as /tmp. Thread-safe.
// Blocks while the daemon's backlog is full, at most 10 s. Errors: UNAVAILABLE
// if no daemon listens; PERMISSION_DENIED if a check fails.
Status ConnectToDaemon(const std::string& directory, proto::Fd* socket);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_
