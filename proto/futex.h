#ifndef FOREBAY_PROTO_FUTEX_H_
#define FOREBAY_PROTO_FUTEX_H_

// Waits until a word in shared memory changes, and wakes threads that wait for
// such a change (futex(2)).

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace forebay::proto {

// Blocks while `word` is `expected`, for at most `timeout_nanos`. Returns 0
// when woken or if the word differs, ETIMEDOUT when the time is up, or EINTR
// after a signal. A wake can be spurious, so callers check the word again. The
// word may be in a read-only mapping.
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

// Wakes all threads, of any process, that wait for the word. Never blocks.
inline void FutexWakeAll(std::atomic<std::uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_FUTEX_H_
