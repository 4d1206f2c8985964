#ifndef FOREBAY_SERVER_PRODUCER_PROCESS_H_
#define FOREBAY_SERVER_PRODUCER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "server/base/fd.h"

namespace forebay::producer {

// A producer's process. AnonymousBytes and PrivateBytes: one thread at a time;
// all else: any thread. Never blocks, but PrivateBytes takes some 30 ms for
// each GiB that the process has. No errors.
class Process {
 public:
  virtual ~Process() = default;

  // As the daemon sees it.
  virtual pid_t pid() const = 0;
  // A pidfd, readable once the process is gone: then it writes no memory.
  virtual int fd() const = 0;
  // Whether a signal has stopped it. False under a debugger, which may go on at
  // any moment.
  virtual bool IsStopped() const = 0;
  // The time, since its start, that its main thread has waited for a core and
  // for nothing else, in nanoseconds. Takes some 2 us. Returns nullopt if the
  // kernel does not count that, or the process is gone.
  virtual std::optional<std::int64_t> RunQueueNanos() const = 0;
  // Its anonymous memory, in swap too, with all that it shares copy-on-write
  // with the process that forked it. Takes some 10 us. Returns nullopt if the
  // process is gone.
  virtual std::optional<std::uint64_t> AnonymousBytes() = 0;
  // The part of it that it shares with no other. Returns nullopt if that cannot
  // be seen.
  virtual std::optional<std::uint64_t> PrivateBytes() = 0;
  // Ends it. Returns false if the daemon may not.
  virtual bool Kill() = 0;
};

// How long a process may take to end by itself before it is killed.
inline constexpr std::int64_t kEndPatienceNanos = 10'000'000'000;

// Opens the process that `pidfd` is of. Returns null unless it is a child of
// `parent` that can be seen from here: in another PID namespace, it cannot.
std::unique_ptr<Process> OpenProcess(base::Fd pidfd, pid_t parent);
// Likewise, of the process `pid` itself.
std::unique_ptr<Process> OpenOwnProcess(base::Fd pidfd, pid_t pid);

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_PROCESS_H_
