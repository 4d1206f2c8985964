#ifndef FOREBAY_PROTO_FUTEX_H_
#define FOREBAY_PROTO_FUTEX_H_

// Sleeping and waking on a word that processes share.

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace forebay::proto {

// Sleeps while `word` is `expected`, at most `timeout_nanos`. Returns 0 when
// woken or when the word differs, else ETIMEDOUT or EINTR (a signal). A
// read-only mapping will do.
inline int FutexWait(const std::atomic<std::uint32_t>* word,
                     std::uint32_t expected, std::int64_t timeout_nanos) {
  struct timespec timeout;
  timeout.tv_sec = timeout_nanos / 1'000'000'000;
  timeout.tv_nsec = timeout_nanos % 1'000'000'000;
  const long rc =
      syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
  if (rc == 0 || errno == EAGAIN) return 0;
  return errno;
}

// Wakes every sleeper.
inline void FutexWakeAll(std::atomic<std::uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_FUTEX_H_
