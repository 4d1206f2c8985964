#ifndef FOREBAY_CLIENT_LOCATION_H_
#define FOREBAY_CLIENT_LOCATION_H_

#include <string>

#include "client/fd.h"
#include "client/status.h"

namespace forebay::client {

// Where the daemon's socket is looked for; see forebay_runtime_dir.
std::string RuntimeDirectory();

// Connects to the session socket in `directory` (empty: RuntimeDirectory())
// after checking that directory, socket and the process behind it belong to
// this user or to root, so that nobody else can pose as the daemon in a folder
// that all may write to. Blocks while the daemon's backlog is full, at most
// 10 s. Errors: UNAVAILABLE if nothing listens; PERMISSION_DENIED if it is not
// to be trusted.
Status ConnectToDaemon(const std::string& directory, Fd* socket);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_LOCATION_H_
