#include "tests/unit/server/storage/http/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace forebay::storage::http {
namespace {

absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

// Reads more bytes into `buffer`. Returns false at the connection's end.
bool Receive(int fd, std::string* buffer) {
  char chunk[16384];
  const ssize_t got = recv(fd, chunk, sizeof(chunk), 0);
  if (got <= 0) return false;
  buffer->append(chunk, got);
  return true;
}

HttpServer::Asked ParseHead(std::string_view head) {
  HttpServer::Asked asked;
  const std::string_view first = head.substr(0, head.find("\r\n"));
  const std::size_t space = first.find(' ');
  asked.method = first.substr(0, space);
  asked.target = first.substr(space + 1, first.rfind(' ') - space - 1);
  for (std::size_t at = first.size() + 2; at < head.size();) {
    const std::size_t end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end - at);
    const std::size_t colon = line.find(':');
    std::string name(line.substr(0, colon));
    absl::AsciiStrToLower(&name);
    asked.headers[name] =
        std::string(absl::StripAsciiWhitespace(ToAbsl(line.substr(colon + 1))));
    at = end + 2;
  }
  return asked;
}

// Returns the next request. Bytes after it stay in `buffer`.
std::optional<HttpServer::Asked> Next(int fd, std::string* buffer) {
  std::size_t end;
  while ((end = buffer->find("\r\n\r\n")) == std::string::npos)
    if (!Receive(fd, buffer)) return std::nullopt;
  HttpServer::Asked asked =
      ParseHead(std::string_view(*buffer).substr(0, end + 2));
  buffer->erase(0, end + 4);
  const auto length = asked.headers.find("content-length");
  if (length == asked.headers.end()) return asked;
  const std::size_t size = std::strtoull(length->second.c_str(), nullptr, 10);
  while (buffer->size() < size)
    if (!Receive(fd, buffer)) return std::nullopt;
  asked.body = buffer->substr(0, size);
  buffer->erase(0, size);
  return asked;
}

}  // namespace

void HttpServer::Peer::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(sent);
  }
}

void HttpServer::Peer::Answer(int status, std::string_view headers,
                              std::string_view body) {
  Send(absl::StrCat("HTTP/1.1 ", status,
                    " Answer\r\nContent-Length: ", body.size(), "\r\n",
                    ToAbsl(headers), "\r\n", ToAbsl(body)));
}

void HttpServer::Peer::Close() {
  over_ = true;
  shutdown(fd_, SHUT_WR);
}

void HttpServer::Peer::Reset() {
  over_ = true;
  const struct linger now = {1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  // Closing the socket resets the connection. The server still owns the
  // descriptor, which now refers to an unused socket.
  const base::Fd other(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  FOREBAY_CHECK(dup3(other.get(), fd_, O_CLOEXEC) == fd_);
}

void HttpServer::Peer::AwaitHangUp() {
  std::string ignored;
  while (Receive(fd_, &ignored)) ignored.clear();
  over_ = true;
}

HttpServer::HttpServer(Handler handler)
    : handler_(std::move(handler)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  struct sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<struct sockaddr*>(&address);
  FOREBAY_CHECK(bind(listener_.get(), any, size) == 0);
  FOREBAY_CHECK(listen(listener_.get(), 1024) == 0);
  FOREBAY_CHECK(getsockname(listener_.get(), any, &size) == 0);
  url_ = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port));
  acceptor_ = std::jthread([this] { Accept(); });
}

HttpServer::~HttpServer() {
  std::list<Connection> left;
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
    for (const Connection& connection : connections_)
      shutdown(connection.fd.get(), SHUT_RDWR);
  }
  shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  {
    base::MutexLock lock(&mutex_);
    left.swap(connections_);
  }
  for (Connection& connection : left) connection.thread.join();
}

void HttpServer::Accept() {
  for (int number = 1;; ++number) {
    const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    base::MutexLock lock(&mutex_);
    if (ending_ || fd < 0) {
      const base::Fd late(fd);
      return;
    }
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    Reap();
    Connection& connection = connections_.emplace_back();
    connection.fd = base::Fd(fd);
    connection.thread = std::jthread(
        [this, &connection, number] { Serve(&connection, number); });
  }
}

void HttpServer::Reap() {
  connections_.remove_if([](Connection& connection) {
    if (connection.over) connection.thread.join();
    return connection.over;
  });
}

void HttpServer::Serve(Connection* connection, int number) {
  const int fd = connection->fd.get();
  std::string buffer;
  Peer peer(fd);
  while (std::optional<Asked> asked = Next(fd, &buffer)) {
    asked->connection = number;
    handler_(*asked, peer);
    if (peer.over_) break;
  }
  base::MutexLock lock(&mutex_);
  connection->over = true;
}

}  // namespace forebay::storage::http
