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
// in order, releases as they come. Processes of other users are refused.
//
// A client is gone when its process has ended, which makes its pidfd readable.
// A client is also gone when it has no memory of the session mapped any more.
// The client, or exec, has then closed the other end of its pipe. The server
// takes back all that a client holds when the client is gone. A hang-up alone
// only closes the client's loaders, because a living process may still read the
// batches that it holds. The server hangs up on a client that does not greet
// within 10 s.
//
// Used on the event loop's thread, and after the loop has ended. Requests run
// on threads that the server owns.
//
// The daemon owns it. The loop, the registry, the opener of remote roots and
// the clock outlive it.
//
// Never blocks the loop. A request may hang with a file system, a host, a GPU
// or a user's process. A request that hangs delays only requests for the same
// resource, and continues when its client is gone. Destruction waits for
// requests that still run, for ever if they hang: see Leave.
//
// Create returns errors of the socket. Errors of a client's requests go to the
// client; CANCELLED if the daemon exits before it has answered.
class Server {
 public:
  // Creates a server that listens at `path`.
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const std::string& path, base::EventLoop* loop, job::Registry* registry,
      storage::RootOpener* remote, const base::Clock* clock);
  ~Server();

  // Returns the number of sessions now. Thread-safe.
  std::uint32_t sessions() const { return session_count_; }

  // Runs `work`, which may block, on a thread for requests. Does nothing if
  // work of the same name occupies too many threads.
  void RunAside(const std::string& name, std::function<void()> work) {
    pool_.TryRun({name}, std::move(work));
  }

  // Does what no event triggers: starts threads that the system refused before,
  // accepts clients again after a shortage, and hangs up on silent clients.
  // Call it about every second.
  void Tick();

  // Accepts no more clients, and removes the socket's path, so that another
  // daemon can use it.
  void StopListening();
  // Hangs up on all clients. Call it after the loop has ended. Interrupts the
  // clients' requests, and waits for them for at most `wait`. Returns the names
  // of the resources for which requests still wait. If there are any, this
  // object cannot be destroyed.
  std::vector<std::string> Leave(std::chrono::nanoseconds wait);

 private:
  struct Client;

  Server(std::string path, base::Fd listener, base::EventLoop* loop,
         job::Registry* registry, storage::RootOpener* remote,
         const base::Clock* clock);

  // Accepts one client, or refuses it.
  void Accept();
  // Hangs up on a client that has not greeted in time.
  void HangUpIfSilent(const std::shared_ptr<Client>& client);
  // Receives a request of a client, or notices that it has hung up.
  void OnReadable(const std::shared_ptr<Client>& client, std::uint32_t events);
  // Lets a thread answer the request. The client's socket is not read
  // meanwhile.
  void Answer(const std::shared_ptr<Client>& client, Request request);
  // Sends an answer, on the loop's thread.
  void OnAnswered(const std::shared_ptr<Client>& client, const Reply& reply);
  // Sends a reply with its descriptors.
  static absl::Status SendTo(const Client& client, const Reply& reply);
  static void Dismiss(Client& client);
  // Ends the leases that the client has released.
  void OnReleases(const std::shared_ptr<Client>& client, job::Loader* loader);
  // Closes the client's socket and its loaders, but does not take back what the
  // client holds.
  void HangUp(const std::shared_ptr<Client>& client);
  void CloseAll(const std::shared_ptr<Client>& client);
  // Takes back all that a client holds. Called when the client is gone.
  void OnGone(const std::shared_ptr<Client>& client);
  void WatchWhatIsHeld(const std::shared_ptr<Client>& client);
  void ForgetIfDone(const std::shared_ptr<Client>& client);
  void Forget(const std::shared_ptr<Client>& client);
  void Unwatch(Client& client);
  // Destroys `owner` on a thread for requests, because unmapping slots, or
  // closing descriptors that came from clients, may block.
  template <typename Owner>
  void End(const RequestKey& key, Owner owner);

  const std::string path_;
  base::Fd listener_;
  base::EventLoop* const loop_;
  job::Registry* const registry_;
  storage::RootOpener* const remote_;
  const base::Clock* const clock_;
  base::EventLoop::Watch listener_watch_ = 0;
  // Whether the loop does not watch the listener, because accepting fails for
  // lack of descriptors or memory.
  bool deaf_ = false;
  std::uint64_t last_session_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Client>> clients_;
  std::atomic<std::uint32_t> session_count_ = 0;
  RequestPool pool_;
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_SERVER_H_
