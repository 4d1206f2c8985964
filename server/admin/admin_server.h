#ifndef FOREBAY_SERVER_ADMIN_ADMIN_SERVER_H_
#define FOREBAY_SERVER_ADMIN_ADMIN_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/admin/subjects.h"

namespace forebay::admin {

// Serves admin.proto over gRPC on a Unix socket, to processes of the daemon's
// own uid only: connections are accepted and their peers checked here, before
// gRPC sees them.
//
// Thread-safe; brings its own few threads. What Start is given must outlive it.
// Start blocks for file I/O; destruction ends the calls that are under way and
// blocks at most about a second. Errors: those of PeerListener.
class AdminServer {
 public:
  virtual ~AdminServer() = default;

  // Listens on `path`, replacing a stale socket: that no other daemon lives
  // there is for the caller to know. The directory must be the caller's own,
  // of mode 0700; the socket gets 0600.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      const std::string& path, Subjects subjects);

  // Connections of other users, closed unheard.
  virtual std::uint64_t refused_peers() const = 0;
};

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_ADMIN_SERVER_H_
