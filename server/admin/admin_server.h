#ifndef FOREBAY_SERVER_ADMIN_ADMIN_SERVER_H_
#define FOREBAY_SERVER_ADMIN_ADMIN_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/admin/subjects.h"

namespace forebay::admin {

// Serves admin.proto over gRPC on a Unix socket, to processes of the daemon's
// own uid only. Peers are checked before gRPC sees their connections.
//
// Thread-safe; has a few threads of its own. The caller owns it; the subjects
// outlive it. Start blocks for file I/O. Destruction ends the calls that are
// under way, and blocks for at most about a second. Errors are those of
// PeerListener.
class AdminServer {
 public:
  virtual ~AdminServer() = default;

  // Stops accepting connections, and removes the socket's path, so that another
  // daemon can use the path. Call it on one thread.
  virtual void StopListening() = 0;

  // Listens at `path`, and replaces an old socket there: the caller knows that
  // no other daemon listens there. The directory must be the caller's own, of
  // mode 0700; the socket gets 0600.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      const std::string& path, Subjects subjects);
};

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_ADMIN_SERVER_H_
