#ifndef FOREBAY_SERVER_ADMIN_PEER_LISTENER_H_
#define FOREBAY_SERVER_ADMIN_PEER_LISTENER_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::admin {

// Listens on a Unix stream socket and hands on the connections of one uid;
// others are closed, logged and counted.
//
// One thread of its own accepts and calls the handler; the other members may be
// called from any thread. Owns the socket and its path. Listen blocks for file
// I/O, the destructor until the handler returns. Errors of Listen:
// INVALID_ARGUMENT (path too long), FAILED_PRECONDITION (the directory is not
// ours alone), or what the kernel says.
class PeerListener {
 public:
  // Gets non-blocking sockets.
  using Handler = std::function<void(base::Fd)>;

  // Replaces whatever lies at `path`: that no other daemon lives there is for
  // the caller to know.
  static absl::StatusOr<std::unique_ptr<PeerListener>> Listen(
      const std::string& path, uid_t uid, Handler handler);
  ~PeerListener();

  // Connections of other users.
  std::uint64_t refused() const { return refused_.load(); }

 private:
  PeerListener(std::string path, uid_t uid, Handler handler, base::Fd socket,
               base::Fd stop);

  void Run();
  // False: there is nothing more to accept now.
  bool AcceptOne();

  const std::string path_;
  const uid_t uid_;
  const Handler handler_;
  const base::Fd socket_;
  const base::Fd stop_;  // an eventfd
  std::atomic<std::uint64_t> refused_ = 0;
  std::thread thread_;
};

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_PEER_LISTENER_H_
