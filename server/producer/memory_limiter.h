#ifndef FOREBAY_SERVER_PRODUCER_MEMORY_LIMITER_H_
#define FOREBAY_SERVER_PRODUCER_MEMORY_LIMITER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "proto/producer_socket.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/producer/process.h"

namespace forebay::producer {

// Why a producer was ended.
struct Overrun {
  std::uint64_t bytes = 0;     // of memory, that it had
  std::uint64_t together = 0;  // that all producers had
  std::uint64_t limit = 0;     // of that

  // Whether it was too large even without the others.
  bool alone() const { return bytes > limit; }
};

// The producers of one stream, as the limiter knows them. Thread-safe.
class MemoryGroup {
 public:
  // `name` is the dataset's, for the log.
  explicit MemoryGroup(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  // The most of them that may be at work: those that were left when one was
  // ended, and from then on one more every ten seconds. Else many that cannot
  // be all in memory would end each other for ever.
  std::uint32_t most() const { return most_; }

 private:
  friend class MemoryLimiter;

  const std::string name_;
  std::atomic<std::uint32_t> most_ = proto::kMaxProducers;
  // For the limiter alone.
  std::int64_t raised_at_nanos_ = 0;
  std::optional<std::int64_t> logged_at_nanos_;
  std::uint64_t unlogged_ = 0;
};

// A producer whose memory is limited. Thread-safe.
class LimitedProducer {
 public:
  LimitedProducer(std::shared_ptr<MemoryGroup> group,
                  std::unique_ptr<Process> process)
      : group_(std::move(group)), process_(std::move(process)) {}

  // Nullopt if it was not ended for its memory.
  std::optional<Overrun> overrun() const;
  // For all but its memory.
  Process& process() const { return *process_; }

 private:
  friend class MemoryLimiter;

  void End(const Overrun& overrun) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<MemoryGroup> group_;
  const std::unique_ptr<Process> process_;
  // For the limiter alone: bytes, and when they were measured.
  std::uint64_t anonymous_ = 0;
  std::uint64_t own_ = 0;           // an estimate
  std::uint64_t measured_own_ = 0;  // none at its fork
  std::uint64_t anonymous_at_measuring_ = 0;
  std::int64_t measure_again_at_nanos_ = 0;
  bool ended_ = false;

  mutable base::Mutex mutex_;
  std::optional<Overrun> overrun_ ABSL_GUARDED_BY(mutex_);
};

struct MemorySnapshot {
  std::uint64_t limit = 0;      // bytes
  std::uint64_t used = 0;       // bytes: an estimate
  std::uint32_t producers = 0;  // that are counted
  std::uint64_t ended = 0;      // since the start
};

// Keeps the memory that all producers have to themselves within a limit: where
// they have more, it ends the largest.
//
// The kernel tells quickly how much anonymous memory a process has. But that
// counts what it shares with the process that forked it, copy-on-write. So a
// producer is taken to have what it has more than at its fork. It may also have
// pages of its own in place of shared ones, which only its page tables show;
// that takes long. So these are read only where all anonymous memory together
// passes the limit: at most once a second for each, and for at most a hundredth
// of the time.
//
// Add, and snapshot: any thread. Check: one thread at a time. Neither blocks,
// but Check reads /proc. No errors: a process that cannot be seen counts
// nothing.
class MemoryLimiter {
 public:
  MemoryLimiter(std::uint64_t limit, const base::Clock* clock)
      : limit_(limit), clock_(clock) {}

  // Counts a process that has just been forked, until it is gone.
  std::shared_ptr<const LimitedProducer> Add(std::shared_ptr<MemoryGroup> group,
                                             std::unique_ptr<Process> process);
  // Looks how much there is, and ends producers if that is too much. Returns
  // the nanoseconds until it should look again: before producers that take
  // memory as fast as the kernel gives it can have taken what is left. Returns
  // nullopt if there are none.
  std::optional<std::int64_t> Check();

  MemorySnapshot snapshot() const;

 private:
  using Producers = std::vector<std::shared_ptr<LimitedProducer>>;

  // Drops those that are gone; returns the anonymous memory of all others.
  std::uint64_t Look(Producers& producers) const;
  // Measures the largest of those that are due, and whose own memory is unsure.
  void Measure(const Producers& producers) const;
  // Ends the largest until the others have no more than the limit.
  std::uint64_t EndLargest(const Producers& producers) const;
  void Log(const LimitedProducer& producer, const Overrun& overrun) const;
  // Lets groups that had one ended have more at work again.
  void Raise(const Producers& producers) const;

  const std::uint64_t limit_;
  const base::Clock* const clock_;
  mutable base::Mutex mutex_;
  Producers producers_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_MEMORY_LIMITER_H_
