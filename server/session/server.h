#ifndef FOREBAY_SERVER_SESSION_SERVER_H_
#define FOREBAY_SERVER_SESSION_SERVER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/event_loop.h"
#include "server/base/fd.h"
#include "server/job/registry.h"
#include "server/session/request.h"
#include "server/session/request_key.h"
#include "server/session/request_pool.h"
#include "server/session/session.h"
#include "server/storage/root_opener.h"

namespace forebay::session {

// Accepts trainers on session.sock, and serves each until it is gone: requests
// in order, releases as they come. Refuses processes of other users.
//
// A client is gone when its process has ended (its pidfd fires). It is also
// gone when it has nothing of the session mapped any more: then the other end
// of its pipe is closed, by itself or by exec. Then the server takes back all
// that the client holds. A hang-up alone closes its loaders: a living process
// may still read what it holds. A client that does not greet in time is hung up
// on.
//
// Used on the event loop's thread, and after the loop has ended; requests run
// on threads of its own. Loop, registry, the opener of remote roots and the
// clock outlive it. Never blocks the loop. A request that hangs, with a file
// system, a host, a GPU or a user's process, holds up requests for the same
// alone, and is left to itself when its client goes. Destruction waits for such
// requests, for ever if need be: see Leave. Errors: Create (the socket's); a
// client's go to the client, CANCELLED if the daemon leaves before it has
// answered.
class Server {
 public:
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const std::string& path, base::EventLoop* loop, job::Registry* registry,
      storage::RootOpener* remote, const base::Clock* clock);
  ~Server();

  // The number of sessions now. Thread-safe.
  std::uint32_t sessions() const { return session_count_; }

  // Runs work that may block on a thread for requests. Does nothing if too much
  // work of that name hangs.
  void RunAside(const std::string& name, std::function<void()> work) {
    pool_.TryRun({name}, std::move(work));
  }

  // Looks for what no event tells. To be called every second or so.
  void Tick();

  // Accepts no more clients, and leaves the path to another daemon.
  void StopListening();
  // Hangs up on all clients, after the loop has ended. Interrupts their
  // requests and waits for these, but no longer than `wait`. Returns the names
  // of what still hangs; if there is any, this object cannot be destroyed.
  std::vector<std::string> Leave(std::chrono::nanoseconds wait);

 private:
  struct Client;

  Server(std::string path, base::Fd listener, base::EventLoop* loop,
         job::Registry* registry, storage::RootOpener* remote,
         const base::Clock* clock);

  void Accept();
  void HangUpIfSilent(const std::shared_ptr<Client>& client);
  void OnReadable(const std::shared_ptr<Client>& client, std::uint32_t events);
  void Answer(const std::shared_ptr<Client>& client, Request request);
  void OnAnswered(const std::shared_ptr<Client>& client, const Reply& reply);
  static absl::Status SendTo(const Client& client, const Reply& reply);
  static void Dismiss(Client& client);
  void OnReleases(const std::shared_ptr<Client>& client, job::Loader* loader);
  void HangUp(const std::shared_ptr<Client>& client);
  void CloseAll(const std::shared_ptr<Client>& client);
  void OnGone(const std::shared_ptr<Client>& client);
  void WatchWhatIsHeld(const std::shared_ptr<Client>& client);
  void ForgetIfDone(const std::shared_ptr<Client>& client);
  void Forget(const std::shared_ptr<Client>& client);
  void Unwatch(Client& client);
  // Ends what clients had, not on the loop's thread: to unmap slots, and to
  // close descriptors of clients', may block.
  template <typename Owner>
  void End(const RequestKey& key, Owner owner);

  const std::string path_;
  base::Fd listener_;
  base::EventLoop* const loop_;
  job::Registry* const registry_;
  storage::RootOpener* const remote_;
  const base::Clock* const clock_;
  base::EventLoop::Watch listener_watch_ = 0;
  bool deaf_ = false;  // not listening: no descriptor is left for a client
  std::uint64_t last_session_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Client>> clients_;
  std::atomic<std::uint32_t> session_count_ = 0;
  RequestPool pool_;
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SERVER_H_
