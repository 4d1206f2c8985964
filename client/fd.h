#ifndef FOREBAY_CLIENT_FD_H_
#define FOREBAY_CLIENT_FD_H_

#include <unistd.h>

#include <utility>

namespace forebay::client {

// Owns a file descriptor. Not thread-safe; no errors.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { Reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void Reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_FD_H_
