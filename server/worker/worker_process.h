#ifndef FOREBAY_SERVER_WORKER_WORKER_PROCESS_H_
#define FOREBAY_SERVER_WORKER_WORKER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "server/base/fd.h"

namespace forebay::worker {

// A worker's process, as the kernel shows it.
//
// One thread at a time calls AnonymousBytes and PrivateBytes; any thread calls
// the other methods. Owns its descriptors, not the process. Never waits, but
// PrivateBytes takes some 30 ms for each GiB of the process. No errors.
class Process {
 public:
  virtual ~Process() = default;

  // Returns the process's number in the daemon's PID namespace.
  virtual pid_t pid() const = 0;
  // Returns a pidfd. The pidfd is readable once the process is gone. From then
  // on the process writes no memory.
  virtual int fd() const = 0;
  // Whether a signal has stopped the process. False for a process under a
  // debugger, which may let it go on at any moment.
  virtual bool IsStopped() const = 0;
  // Returns for how many nanoseconds in all the process's main thread was ready
  // to run but waited for a core. Takes some 2 us. Returns nullopt if the
  // kernel does not count that time, or the process is gone.
  virtual std::optional<std::int64_t> RunQueueNanos() const = 0;
  // Returns the size in bytes of the process's anonymous memory. This includes
  // swapped pages, and pages that the process shares copy-on-write with the
  // process that forked it. Takes some 10 us. Returns nullopt if the process is
  // gone.
  virtual std::optional<std::uint64_t> AnonymousBytes() = 0;
  // Returns how many bytes of memory the process has to itself. These are the
  // pages that it has written and shares with no other process, and its part of
  // swapped pages. A shared swapped page counts in equal parts for all
  // processes that share it. Returns nullopt if the process is gone or may not
  // be inspected.
  virtual std::optional<std::uint64_t> PrivateBytes() = 0;
  // Sends SIGKILL. Returns false if the daemon may not.
  virtual bool Kill() = 0;
};

// The time that a process may take to end by itself before it is killed: 10 s.
inline constexpr std::int64_t kEndPatienceNanos = 10'000'000'000;

// Returns the process to which `pidfd` refers. Returns null unless it is a
// child of `parent` and visible. A process in another PID namespace is not
// visible.
std::unique_ptr<Process> OpenProcess(base::Fd pidfd, pid_t parent);
// Returns the process to which `pidfd` refers. Returns null unless its number
// is `pid`.
std::unique_ptr<Process> OpenOwnProcess(base::Fd pidfd, pid_t pid);

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_WORKER_PROCESS_H_
