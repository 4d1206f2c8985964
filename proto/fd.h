#ifndef FOREBAY_PROTO_FD_H_
#define FOREBAY_PROTO_FD_H_

#include <unistd.h>

#include <utility>

namespace forebay::proto {

// Owns a file descriptor, and closes it on destruction.
//
// Not thread-safe. Closing may block for a file system or a device. Has no
// errors. Failed system calls return a negative number; an object with a
// negative number owns nothing.
class Fd {
 public:
  Fd() = default;
  // Takes ownership of `fd`, unless it is negative.
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { Close(); }

  // Returns the descriptor, which this object still owns. Returns a negative
  // number if there is no descriptor.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Returns the descriptor, and gives up its ownership.
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_FD_H_
