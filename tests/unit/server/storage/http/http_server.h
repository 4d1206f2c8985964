#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_HTTP_SERVER_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_HTTP_SERVER_H_

#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"

namespace forebay::storage::http {

// A server on its own port of 127.0.0.1. A test's handler makes the answers
// byte by byte, so the server can misbehave in every way. Each connection has a
// thread, which calls the handler. The destructor ends all connections, and
// waits for their handlers. The process dies if the server cannot get sockets.
class HttpServer {
 public:
  struct Asked {
    std::string method;
    std::string target;                          // path and query
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
    int connection = 0;  // number of its connection, counted from 1
  };

  // The connection to the client that made the request.
  class Peer {
   public:
    explicit Peer(int fd) : fd_(fd) {}
    // Sends bytes, or drops them if the peer no longer takes them.
    void Send(std::string_view bytes);
    // Sends a whole answer; `headers` are lines that end with "\r\n".
    void Answer(int status, std::string_view headers, std::string_view body);
    // Ends the connection in order, or with a TCP reset.
    void Close();
    void Reset();
    // Blocks until the peer hangs up, or the server is destroyed.
    void AwaitHangUp();

   private:
    friend class HttpServer;
    const int fd_;
    bool over_ = false;
  };

  using Handler = std::function<void(const Asked&, Peer&)>;

  explicit HttpServer(Handler handler);
  ~HttpServer();

  // Returns "http://127.0.0.1:PORT".
  const std::string& url() const { return url_; }

 private:
  struct Connection {
    base::Fd fd;
    std::jthread thread;
    bool over = false;
  };

  void Accept();
  void Serve(Connection* connection, int number);
  // Removes connections that have ended.
  void Reap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Handler handler_;
  base::Fd listener_;
  std::string url_;
  base::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<Connection> connections_ ABSL_GUARDED_BY(mutex_);
  std::jthread acceptor_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_HTTP_SERVER_H_
