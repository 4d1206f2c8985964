#ifndef FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_
#define FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_

#include <string>

#include "client/base/status.h"
#include "proto/fd.h"

namespace forebay::client::wire {

// Returns the directory of the daemon's socket; see forebay_runtime_dir. Reads
// the environment, so no other thread may change it at the same time.
std::string RuntimeDirectory();

// Connects to the session socket in `directory` (empty: RuntimeDirectory()).
// Checks that the directory, the socket and the process behind it belong to
// this user or to root. In a folder that all may write to, such as /tmp,
// another user could otherwise pose as the daemon. Thread-safe. Blocks while
// the daemon's backlog is full, at most 10 s. Errors: UNAVAILABLE if no daemon
// listens; PERMISSION_DENIED if a check fails.
Status ConnectToDaemon(const std::string& directory, proto::Fd* socket);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_
