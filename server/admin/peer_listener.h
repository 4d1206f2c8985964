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

// Listens on a Unix stream socket, and hands on the connections of one uid.
// Closes and logs the others.
//
// One thread of its own accepts and calls the handler. Owns the socket and its
// path. Listen blocks for file I/O, the destructor until the handler returns.
// Errors of Listen: INVALID_ARGUMENT (path too long), FAILED_PRECONDITION (the
// directory is open to others), or what the kernel says.
class PeerListener {
 public:
  // Called with non-blocking sockets.
  using Handler = std::function<void(base::Fd)>;

  // Replaces whatever lies at `path`: the caller knows that no other daemon
  // listens there.
  static absl::StatusOr<std::unique_ptr<PeerListener>> Listen(
      const std::string& path, uid_t uid, Handler handler);
  ~PeerListener();

 private:
  PeerListener(std::string path, uid_t uid, Handler handler, base::Fd socket,
               base::Fd stop);

  void Run();
  // Returns false if there is nothing more to accept now.
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
