#ifndef FOREBAY_SERVER_ADMIN_PEER_LISTENER_H_
#define FOREBAY_SERVER_ADMIN_PEER_LISTENER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::admin {

// Listens on a Unix stream socket, and passes the connections of one uid to a
// handler. Connections of other users are logged and closed.
//
// A thread of its own accepts, and calls the handler. The caller owns the
// listener, which owns the socket and its path. Listen blocks for file I/O. The
// destructor blocks until the handler returns. Only Listen has errors.
class PeerListener {
 public:
  // Takes a connection, as a non-blocking socket.
  using Handler = std::function<void(base::Fd)>;

  // Listens at `path`, and replaces a file there: the caller knows that no
  // other daemon listens. INVALID_ARGUMENT: the path is too long.
  // FAILED_PRECONDITION: the directory belongs to another uid, or is open to
  // others. Other errors are the kernel's.
  static absl::StatusOr<std::unique_ptr<PeerListener>> Listen(
      const std::string& path, uid_t uid, Handler handler);
  ~PeerListener();

 private:
  PeerListener(std::string path, uid_t uid, Handler handler, base::Fd socket,
               base::Fd stop);

  // The body of the thread: accepts until `stop_` is written.
  void Run();
  // Accepts a connection. Returns false if none can be accepted now.
  bool AcceptOne();

  const std::string path_;
  const uid_t uid_;
  const Handler handler_;
  const base::Fd socket_;
  const base::Fd stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_PEER_LISTENER_H_
