#include "server/session/server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/session/peer.h"
#include "server/session/socket.h"
#include "spdlog/spdlog.h"

namespace forebay::session {
namespace {

constexpr std::size_t kMaxClients = 4096;
// The time that a client has to greet. Clients wait for the answer just as
// long.
constexpr std::int64_t kGreetingNanos = 10'000'000'000;
// The time for which destruction waits for requests that hang.
constexpr std::chrono::hours kForEver(24 * 365);

}  // namespace

// A client. Only the loop's thread uses it, except for `answer`.
struct Server::Client {
  std::uint64_t id = 0;
  Peer peer;
  std::int64_t accepted_at_nanos = 0;
  base::Fd socket;
  // Shared with the thread that answers a request.
  std::shared_ptr<Session> session;
  bool busy = false;     // a request is being answered
  bool closing = false;  // its loaders are being closed
  bool hung_up = false;  // by the client or by the daemon
  base::EventLoop::Watch socket_watch = 0;
  base::EventLoop::Watch pidfd_watch = 0;
  base::EventLoop::Watch lifeline_watch = 0;
  std::map<job::Loader*, base::EventLoop::Watch> release_watches;

  base::Mutex mutex;
  // The answer to the request; nullopt before there is one.
  std::optional<Reply> answer ABSL_GUARDED_BY(mutex);

  std::optional<Reply> TakeAnswer() {
    base::MutexLock lock(&mutex);
    return std::exchange(answer, std::nullopt);
  }
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
      clock_(clock) {}

Server::~Server() { Leave(kForEver); }

std::vector<std::string> Server::Leave(std::chrono::nanoseconds wait) {
  StopListening();
  for (const auto& [id, client] : clients_) client->session->Interrupt();
  std::vector<std::string> hung = pool_.Stop(wait);
  for (const auto& [id, client] : clients_) {
    if (client->busy && !client->hung_up) Dismiss(*client);
    // While a thread hangs, the process keeps its descriptors, so closing the
    // socket would not tell the client.
    if (client->socket) shutdown(client->socket.get(), SHUT_RDWR);
  }
  // The loop outlives the registry, so callbacks that the loop holds must not
  // own sessions.
  for (const auto& [id, client] : clients_) {
    Unwatch(*client);
    client->session->Leave();
    client->session.reset();
  }
  clients_.clear();
  session_count_ = 0;
  return hung;
}

// Sends the answer that a thread has made, or an error if there is no answer.
// Called when the loop no longer runs.
void Server::Dismiss(Client& client) {
  std::optional<Reply> answer = client.TakeAnswer();
  if (!answer.has_value())
    answer = Refuse(absl::CancelledError("the daemon is shutting down"));
  SendTo(client, *answer).IgnoreError();
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
    // The listener stays readable as long as the shortage lasts. To let the
    // loop rest, the listener is not watched until the next Tick.
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
    Send(socket.get(), Refuse(refusal).bytes, {}).IgnoreError();
    return;
  }
  auto client = std::make_shared<Client>();
  client->id = ++last_session_;
  client->peer = *peer;
  client->accepted_at_nanos = clock_->NowNanos();
  client->socket = std::move(socket);
  client->session =
      std::make_shared<Session>(client->id, *peer, registry_, remote_);
  auto watch = loop_->Add(
      client->socket.get(), EPOLLIN,
      [this, client](std::uint32_t events) { OnReadable(client, events); });
  if (!watch.ok()) return;
  client->socket_watch = *watch;
  clients_[client->id] = std::move(client);
  ++session_count_;
}

void Server::Tick() {
  pool_.StartMissing();
  if (std::exchange(deaf_, false)) loop_->SetEvents(listener_watch_, EPOLLIN);
  // The loop uses a copy, because clients may go meanwhile.
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
  // The greeting may have come while the daemon itself was stopped.
  OnReadable(client, EPOLLIN);
  if (client->busy || client->hung_up) return;
  const absl::Status refusal = absl::DeadlineExceededError(absl::StrCat(
      "no greeting came within ", kGreetingNanos / 1'000'000'000, " s"));
  spdlog::warn("process {}: {}", client->peer.pid,
               std::string(refusal.message()));
  Send(client->socket.get(), Refuse(refusal).bytes, {}).IgnoreError();
  HangUp(client);
}

void Server::OnReadable(const std::shared_ptr<Client>& client,
                        std::uint32_t events) {
  if (client->busy) {
    // No events are asked for now, so epoll reports only hang-ups and errors.
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) HangUp(client);
    return;
  }
  auto datagram = Receive(client->socket.get());
  if (absl::IsUnavailable(datagram.status())) return;
  if (absl::IsOutOfRange(datagram.status())) {
    HangUp(client);
    return;
  }
  auto request = datagram.ok() ? Request::Parse(*datagram) : datagram.status();
  if (request.ok()) return Answer(client, *std::move(request));
  if (datagram.ok())
    End(KeyOfEnd(client->session->JobName()), std::move(datagram->fds));
  OnAnswered(client, Refuse(request.status()));
}

void Server::Answer(const std::shared_ptr<Client>& client, Request request) {
  client->busy = true;
  loop_->SetEvents(client->socket_watch, 0);
  const RequestKey key = client->session->Announce(request, clock_->NowNanos());
  pool_.Run(key,
            [this, client, session = client->session,
             asked = std::make_shared<Request>(std::move(request))]() mutable {
              Reply answer = session->Handle(std::move(*asked));
              asked = nullptr;
              // `session` may be the last owner; destruction may block.
              session = nullptr;
              {
                base::MutexLock lock(&client->mutex);
                client->answer = std::move(answer);
              }
              loop_->Post([this, client] {
                if (const auto reply = client->TakeAnswer())
                  OnAnswered(client, *reply);
              });
            });
}

template <typename Owner>
void Server::End(const RequestKey& key, Owner owner) {
  // A std::function must be copyable, so its copies share the owner.
  pool_.Run(key, [ended = std::make_shared<Owner>(std::move(owner))]() mutable {
    ended = nullptr;
  });
}

void Server::OnAnswered(const std::shared_ptr<Client>& client,
                        const Reply& reply) {
  client->busy = false;
  if (client->session == nullptr) return;  // the client has gone meanwhile
  if (client->hung_up) {
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

// Watches the descriptors that came with the greeting, and each loader's
// eventfd.
void Server::WatchWhatIsHeld(const std::shared_ptr<Client>& client) {
  if (client->pidfd_watch == 0 && client->session->pidfd() >= 0) {
    const auto watch =
        loop_->Add(client->session->pidfd(), EPOLLIN,
                   [this, client](std::uint32_t) { OnGone(client); });
    if (watch.ok()) client->pidfd_watch = *watch;
  }
  if (client->lifeline_watch == 0 && client->session->lifeline() >= 0) {
    // No events are asked for, because epoll always reports a pipe's hang-up.
    const auto watch =
        loop_->Add(client->session->lifeline(), 0,
                   [this, client](std::uint32_t) { OnGone(client); });
    if (watch.ok()) client->lifeline_watch = *watch;
  }
  for (const std::shared_ptr<job::Loader>& loader :
       client->session->Loaders()) {
    if (client->release_watches.count(loader.get()) != 0) continue;
    // The watch must not own the loader, whose destruction may block. The
    // session owns the loader as long as the watch exists.
    const auto watch =
        loop_->Add(loader->channel().event_fd(), EPOLLIN,
                   [this, client, held = loader.get()](std::uint32_t) {
                     OnReleases(client, held);
                   });
    if (watch.ok()) client->release_watches[loader.get()] = *watch;
  }
}

void Server::OnReleases(const std::shared_ptr<Client>& client,
                        job::Loader* loader) {
  const absl::Status status = loader->TakeReleases();
  if (!status.ok()) {
    // The client cannot be trusted, so its batches are taken back only when its
    // process ends.
    spdlog::warn("process {}, {}: the client sent {}; its session is closed",
                 client->peer.pid, loader->name(),
                 std::string(status.message()));
    loop_->Remove(client->release_watches[loader]);
    client->release_watches[loader] = 0;
    Send(client->socket.get(), Refuse(status).bytes, {}).IgnoreError();
    HangUp(client);
    return;
  }
  ForgetIfDone(client);
}

void Server::HangUp(const std::shared_ptr<Client>& client) {
  if (client->hung_up) return;
  client->hung_up = true;
  loop_->Remove(client->socket_watch);
  client->session->Interrupt();
  const std::string job = client->session->JobName();
  // The socket may contain descriptors that nobody has received. Closing them
  // may block, so a thread for requests does that.
  shutdown(client->socket.get(), SHUT_RDWR);
  End(KeyOfEnd(job), std::move(client->socket));
  CloseAll(client);
}

void Server::CloseAll(const std::shared_ptr<Client>& client) {
  const auto loaders = client->session->Loaders();
  if (loaders.empty()) {
    client->session->CloseAll();
    ForgetIfDone(client);
    return;
  }
  // Closing a loader waits while its epoch is being started.
  client->closing = true;
  pool_.Run(KeyOfEnd(client->session->JobName(), GpusOf(loaders)),
            [this, client, session = client->session]() mutable {
              session->CloseAll();
              session = nullptr;
              loop_->Post([this, client] {
                client->closing = false;
                if (client->session != nullptr) ForgetIfDone(client);
              });
            });
}

void Server::OnGone(const std::shared_ptr<Client>& client) {
  client->session->Interrupt();
  Forget(client);
}

// Drops closed loaders of which the client holds nothing. Also drops the client
// itself once it has hung up and holds nothing, even if one of its requests
// still runs.
void Server::ForgetIfDone(const std::shared_ptr<Client>& client) {
  if (client->closing || (client->busy && !client->hung_up)) return;
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
    const RequestKey key =
        KeyOfEnd(client->session->JobName(), GpusOf(dropped));
    End(key, std::move(dropped));
  }
  if (client->hung_up && held.empty()) Forget(client);
}

// Takes back all that the client has. A request that is under way ends by
// itself, or never.
void Server::Forget(const std::shared_ptr<Client>& client) {
  if (clients_.erase(client->id) == 0) return;
  Unwatch(*client);
  client->hung_up = true;
  const std::string job = client->session->JobName();
  Session::Holdings holdings = client->session->Leave();
  const RequestKey key = KeyOfEnd(job, GpusOf(holdings.loaders));
  // The count falls after Leave. Whoever sees the lower count then finds
  // nothing of the session in the registry.
  --session_count_;
  End(key, std::move(holdings));
  End(key, std::pair(std::move(client->session), std::move(client->socket)));
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
