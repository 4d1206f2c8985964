// A link between clients and a server of HTTP/1.1. Each request arrives late,
// and some much later. All answers together come no faster than the link
// carries. Prints its port, and runs until its standard input ends.
//
// One thread relays the bytes and parses none. What a client sends at once
// counts as one request: requests have no bodies here and are not pipelined.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>

#include "CLI/CLI.hpp"
#include "server/base/fd.h"

namespace forebay::bench {
namespace {

constexpr std::size_t kChunk = 128 << 10;
constexpr std::int64_t kMillis = 1'000'000;

std::int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Options {
  int server_port = 0;
  double delay_ms = 30;
  double stalled = 0;  // the share of requests that stall
  double stall_seconds = 5;
  double megabytes = 100;  // per second, for all answers together
};

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void SendPromptly(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

class Link {
 public:
  explicit Link(const Options& options)
      : options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)), random_(1) {}

  // Opens the listening socket. Returns false if there are no sockets.
  bool Listen() {
    listener_ = base::Fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_.get(), generic, size) != 0 ||
        listen(listener_.get(), 1024) != 0 ||
        getsockname(listener_.get(), generic, &size) != 0)
      return false;
    Arm(listener_.get(), EPOLLIN, EPOLL_CTL_ADD);
    Arm(STDIN_FILENO, EPOLLIN, EPOLL_CTL_ADD);
    std::printf("%d\n", ntohs(address.sin_port));
    return std::fflush(stdout) == 0;
  }

  void Run() {
    epoll_event events[256];
    for (;;) {
      const int count =
          epoll_wait(epoll_.get(), events, 256, MillisToWait(NowNanos()));
      for (int i = 0; i < count; ++i) {
        const int fd = events[i].data.fd;
        if (fd == STDIN_FILENO) return;
        fd == listener_.get() ? Accept() : OnReady(fd, events[i].events);
      }
      PassRequestsOn(NowNanos());
      UseLink();
    }
  }

 private:
  // A client's connection, and the connection to the server that belongs to it.
  struct Pair {
    base::Fd client;
    base::Fd server;
    std::string answer;  // bytes that the client has not taken yet
  };

  struct Waiting {
    std::shared_ptr<Pair> pair;  // its server has sent bytes
    std::int64_t since_nanos = 0;
  };

  void Arm(int fd, std::uint32_t events, int how = EPOLL_CTL_MOD) const {
    epoll_event event = {};
    event.events = events;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), how, fd, &event);
  }

  void Accept() {
    for (;;) {
      auto pair = std::make_shared<Pair>();
      pair->client = base::Fd(accept4(listener_.get(), nullptr, nullptr,
                                      SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!pair->client) return;
      pair->server = base::Fd(socket(AF_INET, SOCK_STREAM, 0));
      const sockaddr_in address = Loopback(options_.server_port);
      if (connect(pair->server.get(),
                  reinterpret_cast<const sockaddr*>(&address),
                  sizeof(address)) != 0)
        continue;
      for (const int fd : {pair->client.get(), pair->server.get()}) {
        SendPromptly(fd);
        pairs_[fd] = pair;
        Arm(fd, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_ADD);
      }
    }
  }

  void OnReady(int fd, std::uint32_t events) {
    const auto found = pairs_.find(fd);
    if (found == pairs_.end()) return;
    const std::shared_ptr<Pair> pair = found->second;
    if (fd == pair->server.get())
      waiting_.push_back({pair, NowNanos()});
    else if ((events & EPOLLOUT) != 0)
      SendAnswer(pair);
    else
      TakeRequest(pair);
  }

  void TakeRequest(const std::shared_ptr<Pair>& pair) {
    char chunk[16 << 10];
    const ssize_t got = recv(pair->client.get(), chunk, sizeof(chunk), 0);
    if (got <= 0) return End(pair);
    double late_ms = options_.delay_ms;
    if (std::uniform_real_distribution<>()(random_) < options_.stalled)
      late_ms += options_.stall_seconds * 1e3;
    late_.emplace(
        NowNanos() + static_cast<std::int64_t>(late_ms * kMillis),
        std::make_pair(std::weak_ptr<Pair>(pair), std::string(chunk, got)));
    Arm(pair->client.get(), EPOLLIN | EPOLLONESHOT);
  }

  void PassRequestsOn(std::int64_t now) {
    while (!late_.empty() && late_.begin()->first <= now) {
      const auto [weak, request] = late_.extract(late_.begin()).mapped();
      const std::shared_ptr<Pair> pair = weak.lock();
      if (pair == nullptr || !pair->server) continue;
      if (send(pair->server.get(), request.data(), request.size(),
               MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
        End(pair);
    }
  }

  // Passes answers on. Connections that have bytes for the link take turns. The
  // link's time goes on while this thread does not run: bytes that arrived
  // meanwhile count as sent when the link was free.
  void UseLink() {
    while (!waiting_.empty() && FreeAt() <= NowNanos()) {
      free_nanos_ = FreeAt();
      const std::shared_ptr<Pair> pair = waiting_.front().pair;
      waiting_.pop_front();
      if (!pair->server) continue;
      const ssize_t got =
          recv(pair->server.get(), buffer_, kChunk, MSG_DONTWAIT);
      if (got <= 0) {
        End(pair);
        continue;
      }
      free_nanos_ += static_cast<std::int64_t>(static_cast<double>(got) * 1e3 /
                                               options_.megabytes);
      pair->answer.assign(buffer_, got);
      SendAnswer(pair);
    }
  }

  // Returns the time, in nanoseconds, at which the first waiting connection may
  // use the link.
  std::int64_t FreeAt() const {
    return std::max(free_nanos_, waiting_.front().since_nanos);
  }

  void SendAnswer(const std::shared_ptr<Pair>& pair) {
    const ssize_t sent = send(pair->client.get(), pair->answer.data(),
                              pair->answer.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return End(pair);
    pair->answer.erase(0, std::max<ssize_t>(sent, 0));
    if (pair->answer.empty())
      return Arm(pair->server.get(), EPOLLIN | EPOLLONESHOT);
    Arm(pair->client.get(), EPOLLOUT | EPOLLONESHOT);
  }

  void End(const std::shared_ptr<Pair>& pair) {
    pairs_.erase(pair->client.get());
    pairs_.erase(pair->server.get());
    pair->client = base::Fd();
    pair->server = base::Fd();
  }

  int MillisToWait(std::int64_t now) {
    std::int64_t until = now + 1000 * kMillis;
    if (!late_.empty()) until = std::min(until, late_.begin()->first);
    if (!waiting_.empty()) until = std::min(until, FreeAt());
    return static_cast<int>(
        std::max<std::int64_t>((until - now + kMillis - 1) / kMillis, 0));
  }

  const Options options_;
  const base::Fd epoll_;
  base::Fd listener_;
  std::unordered_map<int, std::shared_ptr<Pair>> pairs_;
  std::multimap<std::int64_t, std::pair<std::weak_ptr<Pair>, std::string>>
      late_;
  std::deque<Waiting> waiting_;
  // When the link will have carried all bytes given to it.
  std::int64_t free_nanos_ = 0;
  std::mt19937 random_;
  char buffer_[kChunk];
};

}  // namespace
}  // namespace forebay::bench

int main(int argc, char** argv) {
  CLI::App app("A slow link to a server of HTTP on this machine.");
  forebay::bench::Options options;
  app.add_option("port", options.server_port, "The server's")->required();
  app.add_option("--delay-ms", options.delay_ms, "Of each request");
  app.add_option("--stalled", options.stalled, "Share of requests that stall");
  app.add_option("--stall-seconds", options.stall_seconds, "For how long");
  app.add_option("--megabytes", options.megabytes, "A second, of answers");
  CLI11_PARSE(app, argc, argv);
  const auto link = std::make_unique<forebay::bench::Link>(options);
  if (!link->Listen()) return 1;
  link->Run();
  return 0;
}
