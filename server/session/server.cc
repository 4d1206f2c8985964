#include "server/session/server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/session/peer.h"
#include "server/session/socket.h"
#include "spdlog/spdlog.h"

namespace forebay::session {
namespace {

// Threads of each kind; further requests of a kind wait.
constexpr int kScanThreads = 32;
constexpr int kRequestThreads = 4;
constexpr int kFetchThreads = 32;
constexpr int kDeviceThreads = 4;
constexpr std::size_t kMaxClients = 4096;
// The time that a client has to greet: as long as clients wait for the answer.
constexpr std::int64_t kGreetingNanos = 10'000'000'000;

RequestPool& Started(int threads, std::unique_ptr<RequestPool>& pool) {
  if (pool == nullptr) pool = std::make_unique<RequestPool>(threads);
  return *pool;
}

bool LiesOnDevice(const std::shared_ptr<job::Loader>& loader) {
  return loader->placement().device != nullptr;
}

}  // namespace

// Only the loop's thread uses it; while `busy`, `session` and `answer` belong
// to the thread that answers.
struct Server::Client {
  std::uint64_t id = 0;
  Peer peer;
  std::int64_t accepted_at_nanos = 0;
  base::Fd socket;
  std::unique_ptr<Session> session;
  bool busy = false;     // a request is being answered
  Reply answer;          // to that request; empty before there is one
  bool hung_up = false;  // by the client or by the daemon
  bool gone = false;     // its process has ended, or has nothing mapped
  base::EventLoop::Watch socket_watch = 0;
  base::EventLoop::Watch pidfd_watch = 0;
  base::EventLoop::Watch lifeline_watch = 0;
  std::map<job::Loader*, base::EventLoop::Watch> release_watches;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Create(
    const std::string& path, base::EventLoop* loop, job::Registry* registry,
    storage::RootOpener* remote, const base::Clock* clock) {
  FOREBAY_ASSIGN_OR_RETURN(base::Fd listener, Listen(path));
  std::unique_ptr<Server> server(
      new Server(path, std::move(listener), loop, registry, remote, clock));
  FOREBAY_ASSIGN_OR_RETURN(
      server->listener_watch_,
      loop->Add(server->listener_.get(), EPOLLIN,
                [s = server.get()](std::uint32_t) { s->Accept(); }));
  return server;
}

Server::Server(std::string path, base::Fd listener, base::EventLoop* loop,
               job::Registry* registry, storage::RootOpener* remote,
               const base::Clock* clock)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      loop_(loop),
      registry_(registry),
      remote_(remote),
      clock_(clock),
      scans_(std::make_unique<RequestPool>(kScanThreads)),
      requests_(std::make_unique<RequestPool>(kRequestThreads)) {}

Server::~Server() {
  StopListening();
  for (const auto& [id, client] : clients_) client->session->Interrupt();
  scans_.reset();
  fetches_.reset();
  device_calls_.reset();
  requests_.reset();
  for (const auto& [id, client] : clients_) {
    if (client->busy && !client->hung_up) Dismiss(*client);
  }
  // The loop outlives the registry: its callbacks must not keep what the
  // clients had.
  for (const auto& [id, client] : clients_) {
    Unwatch(*client);
    client->session.reset();
  }
}

// Sends what answer there is, in the loop's place.
void Server::Dismiss(Client& client) {
  if (client.answer.bytes.empty()) {
    client.answer =
        Session::Refuse(absl::CancelledError("the daemon is shutting down"));
  }
  SendTo(client, client.answer).IgnoreError();
}

void Server::StopListening() {
  if (!listener_) return;
  loop_->Remove(listener_watch_);
  listener_.Close();
  unlink(path_.c_str());
}

void Server::Accept() {
  base::Fd socket(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    // The listener would be readable again at once, for as long as this lasts.
    deaf_ = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
    if (deaf_) {
      spdlog::warn("a client waits: {}", std::strerror(errno));
      loop_->SetEvents(listener_watch_, 0);
    }
    return;
  }
  const auto peer = PeerOf(socket.get());
  if (!peer.ok() || peer->uid != geteuid() || clients_.size() >= kMaxClients) {
    const absl::Status refusal =
        !peer.ok() ? peer.status()
        : peer->uid != geteuid()
            ? absl::PermissionDeniedError(
                  absl::StrCat("this daemon serves user ", geteuid(),
                               " alone, not user ", peer->uid))
            : absl::ResourceExhaustedError("too many clients");
    spdlog::warn("refused a client: {}", std::string(refusal.message()));
    Send(socket.get(), Session::Refuse(refusal).bytes, {}).IgnoreError();
    return;
  }
  auto client = std::make_shared<Client>();
  client->id = ++last_session_;
  client->peer = *peer;
  client->accepted_at_nanos = clock_->NowNanos();
  client->socket = std::move(socket);
  client->session =
      std::make_unique<Session>(client->id, *peer, registry_, remote_);
  auto watch = loop_->Add(
      client->socket.get(), EPOLLIN,
      [this, client](std::uint32_t events) { OnReadable(client, events); });
  if (!watch.ok()) return;
  client->socket_watch = *watch;
  clients_[client->id] = std::move(client);
  ++session_count_;
}

void Server::Tick() {
  if (std::exchange(deaf_, false)) loop_->SetEvents(listener_watch_, EPOLLIN);
  // A copy: some clients go meanwhile.
  const auto clients = clients_;
  for (const auto& [id, client] : clients) {
    HangUpIfSilent(client);
    if (clients_.count(id) != 0) ForgetIfDone(client);
  }
}

void Server::HangUpIfSilent(const std::shared_ptr<Client>& client) {
  if (client->busy || client->hung_up || client->session->pidfd() >= 0 ||
      clock_->NowNanos() - client->accepted_at_nanos < kGreetingNanos)
    return;
  // It may have greeted while the daemon was stopped.
  OnReadable(client, EPOLLIN);
  if (client->busy || client->hung_up) return;
  const absl::Status refusal = absl::DeadlineExceededError(absl::StrCat(
      "no greeting came within ", kGreetingNanos / 1'000'000'000, " s"));
  spdlog::warn("process {}: {}", client->peer.pid,
               std::string(refusal.message()));
  Send(client->socket.get(), Session::Refuse(refusal).bytes, {}).IgnoreError();
  HangUp(client);
}

void Server::OnReadable(const std::shared_ptr<Client>& client,
                        std::uint32_t events) {
  if (client->busy) {
    // Only hang-ups are reported while no events are asked for.
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) HangUp(client);
    return;
  }
  auto datagram = Receive(client->socket.get());
  if (absl::IsUnavailable(datagram.status())) return;
  if (absl::IsOutOfRange(datagram.status())) {
    HangUp(client);
    return;
  }
  auto request =
      datagram.ok() ? Request::Parse(*std::move(datagram)) : datagram.status();
  if (!request.ok()) {
    OnAnswered(client, Session::Refuse(request.status()));
    return;
  }
  client->busy = true;
  loop_->SetEvents(client->socket_watch, 0);
  RequestPool& pool = PoolFor(*client->session, request->message);
  pool.Run(
      [this, client, asked = std::make_shared<Request>(*std::move(request))] {
        client->answer = client->session->Handle(std::move(*asked));
        loop_->Post([this, client] {
          OnAnswered(client, std::exchange(client->answer, {}));
        });
      });
}

RequestPool& Server::PoolFor(const Session& session,
                             const proto::ClientMessage& request) {
  if (request.has_open_loader() || request.has_open_reader()) return *scans_;
  if (request.has_fetch() || request.has_read_object())
    return Started(kFetchThreads, fetches_);
  // Its host maps the slots, and may stand still.
  if (request.has_start_epoch() &&
      session.NeedsProducers(request.start_epoch().loader_id()))
    return *scans_;
  if (request.has_start_epoch() &&
      session.LiesOnDevice(request.start_epoch().loader_id()))
    return Started(kDeviceThreads, device_calls_);
  return *requests_;
}

template <typename Owner>
void Server::End(Owner owner, bool on_device) {
  RequestPool& pool =
      on_device ? Started(kDeviceThreads, device_calls_) : *requests_;
  pool.Run([ended = std::move(owner)]() mutable { ended = Owner(); });
}

void Server::OnAnswered(const std::shared_ptr<Client>& client,
                        const Reply& reply) {
  client->busy = false;
  if (client->gone) {
    Forget(client);
    return;
  }
  if (client->hung_up) {
    client->session->CloseAll();
    ForgetIfDone(client);
    return;
  }
  WatchWhatIsHeld(client);
  const absl::Status sent = SendTo(*client, reply);
  if (reply.hang_up || !sent.ok()) {
    HangUp(client);
    return;
  }
  loop_->SetEvents(client->socket_watch, EPOLLIN);
  ForgetIfDone(client);
}

absl::Status Server::SendTo(const Client& client, const Reply& reply) {
  std::vector<int> fds;
  for (const base::Fd& fd : reply.fds) fds.push_back(fd.get());
  return Send(client.socket.get(), reply.bytes, fds);
}

// Watches what came with the greeting, and the eventfd of each loader.
void Server::WatchWhatIsHeld(const std::shared_ptr<Client>& client) {
  if (client->pidfd_watch == 0 && client->session->pidfd() >= 0) {
    const auto watch =
        loop_->Add(client->session->pidfd(), EPOLLIN,
                   [this, client](std::uint32_t) { OnGone(client); });
    if (watch.ok()) client->pidfd_watch = *watch;
  }
  if (client->lifeline_watch == 0 && client->session->lifeline() >= 0) {
    // No events are asked for: the end of a pipe is reported all the same.
    const auto watch =
        loop_->Add(client->session->lifeline(), 0,
                   [this, client](std::uint32_t) { OnGone(client); });
    if (watch.ok()) client->lifeline_watch = *watch;
  }
  for (const std::shared_ptr<job::Loader>& loader :
       client->session->Loaders()) {
    if (client->release_watches.count(loader.get()) != 0) continue;
    const auto watch = loop_->Add(
        loader->channel().event_fd(), EPOLLIN,
        [this, client, loader](std::uint32_t) { OnReleases(client, loader); });
    if (watch.ok()) client->release_watches[loader.get()] = *watch;
  }
}

void Server::OnReleases(const std::shared_ptr<Client>& client,
                        const std::shared_ptr<job::Loader>& loader) {
  const absl::Status status = loader->TakeReleases();
  if (!status.ok()) {
    // The client cannot be trusted: what it holds is taken back only when it
    // ends.
    spdlog::warn("process {}, {}: the client sent {}; its session is closed",
                 client->peer.pid, loader->name(),
                 std::string(status.message()));
    loop_->Remove(client->release_watches[loader.get()]);
    client->release_watches[loader.get()] = 0;
    Send(client->socket.get(), Session::Refuse(status).bytes, {}).IgnoreError();
    HangUp(client);
    return;
  }
  ForgetIfDone(client);
}

void Server::HangUp(const std::shared_ptr<Client>& client) {
  if (client->hung_up) return;
  client->hung_up = true;
  loop_->Remove(client->socket_watch);
  client->socket.Close();
  client->session->Interrupt();
  if (client->busy) return;
  client->session->CloseAll();
  ForgetIfDone(client);
}

void Server::OnGone(const std::shared_ptr<Client>& client) {
  // They would be reported again for as long as a request is being answered.
  loop_->Remove(client->pidfd_watch);
  loop_->Remove(client->lifeline_watch);
  client->gone = true;
  client->session->Interrupt();
  if (!client->busy) Forget(client);
}

// Drops closed loaders that the client holds nothing of, and the client itself
// when it has hung up and holds nothing.
void Server::ForgetIfDone(const std::shared_ptr<Client>& client) {
  if (client->busy) return;
  auto dropped = client->session->DropReleased();
  const auto held = client->session->Loaders();
  for (auto watch = client->release_watches.begin();
       watch != client->release_watches.end();) {
    const bool gone = std::none_of(
        held.begin(), held.end(),
        [&](const auto& loader) { return loader.get() == watch->first; });
    if (gone) loop_->Remove(watch->second);
    watch = gone ? client->release_watches.erase(watch) : std::next(watch);
  }
  if (!dropped.empty()) {
    const bool on_device =
        std::any_of(dropped.begin(), dropped.end(), LiesOnDevice);
    End(std::move(dropped), on_device);
  }
  if (client->hung_up && held.empty()) Forget(client);
}

void Server::Forget(const std::shared_ptr<Client>& client) {
  if (clients_.erase(client->id) == 0) return;
  --session_count_;
  Unwatch(*client);
  const auto loaders = client->session->Loaders();
  const bool on_device =
      std::any_of(loaders.begin(), loaders.end(), LiesOnDevice);
  End(std::shared_ptr<Session>(std::move(client->session)), on_device);
}

void Server::Unwatch(Client& client) {
  loop_->Remove(client.socket_watch);
  loop_->Remove(client.pidfd_watch);
  loop_->Remove(client.lifeline_watch);
  for (const auto& [loader, watch] : client.release_watches) {
    loop_->Remove(watch);
  }
  client.release_watches.clear();
}

}  // namespace forebay::session
