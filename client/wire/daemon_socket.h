#ifndef FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_
#define FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_

#include <string>

#include "client/base/status.h"
#include "proto/fd.h"

namespace forebay::client::wire {

// The directory of the daemon's socket; see forebay_runtime_dir.
std::string RuntimeDirectory();

// Connects to the session socket in `directory` (empty: RuntimeDirectory()).
// Checks that the directory, the socket and the process behind it belong to
// this user or to root, so that nobody else can pose as the daemon in a folder
// that all may write to. Blocks while the daemon's backlog is full, at most 10
// s. Errors: UNAVAILABLE if nothing listens; PERMISSION_DENIED if a check
// fails.
Status ConnectToDaemon(const std::string& directory, proto::Fd* socket);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DAEMON_SOCKET_H_
