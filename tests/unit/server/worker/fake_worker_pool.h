#ifndef FOREBAY_TESTS_UNIT_SERVER_WORKER_FAKE_WORKER_POOL_H_
#define FOREBAY_TESTS_UNIT_SERVER_WORKER_FAKE_WORKER_POOL_H_

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/worker_socket.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"

namespace forebay::worker {

// Returns an answer without a failure, or with the failure `text`.
inline std::string AnswerOf(const std::string& text = {}) {
  const proto::WorkerAnswer answer = {
      .cpu_nanos = 7, .failures = text.empty() ? 0u : 1u, .reserved = 0};
  std::string bytes(reinterpret_cast<const char*>(&answer), sizeof(answer));
  if (text.empty()) return bytes;
  const proto::WorkerFailure failure = {
      .index = 0, .bytes = static_cast<std::uint32_t>(text.size())};
  bytes.append(reinterpret_cast<const char*>(&failure), sizeof(failure));
  return bytes + text;
}

// A worker pool on a thread. It records each task, and keeps the task's
// descriptor. Thread-safe.
class FakeWorkerPool {
 public:
  explicit FakeWorkerPool(base::Fd socket) : socket_(std::move(socket)) {
    thread_ = std::jthread([this] { Run(); });
  }
  ~FakeWorkerPool() {
    Continue();
    shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }

  // From now until Continue(), takes no task, like a pool that is stopped or
  // paused with its trainer.
  void Stop() {
    base::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  void Continue() {
    base::MutexLock lock(&mutex_);
    stopped_ = false;
    continued_.NotifyAll();
  }

  // The next tasks get this failure as their answer.
  void Refuse(const std::string& text) {
    base::MutexLock lock(&mutex_);
    refusal_ = text;
  }
  std::vector<proto::WorkerTask> tasks() const {
    base::MutexLock lock(&mutex_);
    return tasks_;
  }
  // Returns the descriptor that came with the latest task.
  base::Fd TakeFd() {
    base::MutexLock lock(&mutex_);
    return std::move(fds_.back());
  }
  // Ends the workers on whose sockets the daemon has hung up.
  void EndDismissed() {
    base::MutexLock lock(&mutex_);
    std::erase_if(fds_, [](const base::Fd& fd) {
      char byte;
      return recv(fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    });
  }
  // Whether the daemon has hung up.
  bool ended() const {
    base::MutexLock lock(&mutex_);
    return ended_;
  }

 private:
  void Run() {
    while (Serve()) {
    }
    base::MutexLock lock(&mutex_);
    ended_ = true;
  }

  bool Serve() {
    struct pollfd ready = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
    poll(&ready, 1, -1);
    {
      base::MutexLock lock(&mutex_);
      while (stopped_) continued_.Wait(&mutex_);
    }
    char bytes[4096];
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    struct iovec data = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC) <= 0) return false;
    std::string answer;
    {
      base::MutexLock lock(&mutex_);
      proto::WorkerTask task;
      std::memcpy(&task, bytes, sizeof(task));
      tasks_.push_back(task);
      if (const struct cmsghdr* const header = CMSG_FIRSTHDR(&message)) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        fds_.emplace_back(fd);
      }
      answer = AnswerOf(refusal_);
    }
    return send(socket_.get(), answer.data(), answer.size(), MSG_NOSIGNAL) > 0;
  }

  const base::Fd socket_;
  std::jthread thread_;
  mutable base::Mutex mutex_;
  base::CondVar continued_;
  bool stopped_ = false;
  std::string refusal_;
  std::vector<proto::WorkerTask> tasks_;
  std::vector<base::Fd> fds_;
  bool ended_ = false;
};

}  // namespace forebay::worker

#endif  // FOREBAY_TESTS_UNIT_SERVER_WORKER_FAKE_WORKER_POOL_H_
