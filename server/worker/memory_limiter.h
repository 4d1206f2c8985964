#ifndef FOREBAY_SERVER_WORKER_MEMORY_LIMITER_H_
#define FOREBAY_SERVER_WORKER_MEMORY_LIMITER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "proto/worker_socket.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/worker/worker_process.h"

namespace forebay::worker {

// The measurements for which a worker was ended, in bytes.
struct Overrun {
  // The memory that the worker had to itself.
  std::uint64_t bytes = 0;
  // The memory that all workers had to themselves.
  std::uint64_t together = 0;
  // The limit of `together`.
  std::uint64_t limit = 0;

  // Whether the worker exceeded the limit even without the others.
  bool alone() const { return bytes > limit; }
};

// The limiter's state for the workers of one stream: how many may be at work,
// and when the log last mentioned an ended worker.
//
// Thread-safe. The stream's workers share it. Never blocks. No errors.
class MemoryGroup {
 public:
  // `name` is the dataset's name, for the log.
  explicit MemoryGroup(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  // Returns the most workers of the group that may be at work. When a worker is
  // ended, this number falls to the number of workers that remain, but never
  // below 1. Every ten seconds, the number rises by one. Without this bound,
  // workers that do not fit into memory together would be ended again and
  // again.
  std::uint32_t most() const { return most_; }

 private:
  friend class MemoryLimiter;

  const std::string name_;
  std::atomic<std::uint32_t> most_ = proto::kMaxWorkers;
  // The time at which most_ was last changed. Only the limiter uses this and
  // the following fields.
  std::int64_t raised_at_nanos_ = 0;
  // The time at which a worker's end was last logged, and the number of ends
  // that were not logged since.
  std::optional<std::int64_t> logged_at_nanos_;
  std::uint64_t unlogged_ = 0;
};

// A worker whose memory is limited.
//
// Thread-safe. Owns the process's descriptors, and shares the group. Blocks
// only for its own lock. No errors.
class LimitedWorker {
 public:
  LimitedWorker(std::shared_ptr<MemoryGroup> group,
                std::unique_ptr<Process> process)
      : group_(std::move(group)), process_(std::move(process)) {}

  // Returns the measurements for which the worker was ended; nullopt if it was
  // not ended for its memory.
  std::optional<Overrun> overrun() const;
  // Returns the process. Only the limiter may ask the process for its memory.
  Process& process() const { return *process_; }

 private:
  friend class MemoryLimiter;

  // Stores the reason, and kills the process.
  void End(const Overrun& overrun) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<MemoryGroup> group_;
  const std::unique_ptr<Process> process_;
  // Only the limiter uses the following fields; memory is in bytes. The
  // anonymous memory at the last look, including pages shared copy-on-write:
  std::uint64_t anonymous_ = 0;
  // An estimate of the memory that the worker has to itself.
  std::uint64_t own_ = 0;
  // The memory that the worker had to itself at the last measurement; 0 at its
  // fork.
  std::uint64_t measured_own_ = 0;
  // The worker's anonymous memory at the last measurement, or at its fork.
  std::uint64_t anonymous_at_measuring_ = 0;
  std::int64_t measure_again_at_nanos_ = 0;
  bool ended_ = false;

  mutable base::Mutex mutex_;
  std::optional<Overrun> overrun_ ABSL_GUARDED_BY(mutex_);
};

struct MemorySnapshot {
  // The limit, in bytes.
  std::uint64_t limit = 0;
  // The memory that all workers have to themselves, in bytes; an estimate.
  std::uint64_t used = 0;
  // The workers that the limiter counts.
  std::uint32_t workers = 0;
  // The workers that were ended for their memory since the daemon's start.
  std::uint64_t ended = 0;
};

// Keeps the memory that all workers have to themselves within a limit: if they
// have more, it ends the largest workers until the others fit.
//
// The kernel tells quickly how much anonymous memory a process has. But this
// memory includes pages that the process still shares copy-on-write with the
// process that forked it. The limiter therefore counts how much a worker's
// anonymous memory has grown since the fork. This count misses shared pages
// that the worker has since written, and thereby copied. Only the worker's page
// tables show these pages, and reading the tables takes long. The limiter reads
// page tables only if the anonymous memory of all workers together exceeds the
// limit. Each worker's tables are read at most once a second, and for at most a
// hundredth of the time.
//
// Any thread may call Add and snapshot; one thread at a time calls Check.
// Shares the workers with their users. No method waits, but Check and Add read
// /proc. No errors: a process that is gone does not count.
class MemoryLimiter {
 public:
  MemoryLimiter(std::uint64_t limit, const base::Clock* clock)
      : limit_(limit), clock_(clock) {}

  // Counts the memory of a process that has just been forked, until it is gone.
  std::shared_ptr<const LimitedWorker> Add(std::shared_ptr<MemoryGroup> group,
                                           std::unique_ptr<Process> process);
  // Estimates the memory of all workers, and ends workers if it is too much.
  // Returns the nanoseconds until the next call: 10 ms at least, and 1 s at
  // most. Within these bounds, workers that take memory as fast as the kernel
  // gives it cannot use up the limit before that call. Without workers, returns
  // nullopt.
  std::optional<std::int64_t> Check();

  MemorySnapshot snapshot() const;

 private:
  using Workers = std::vector<std::shared_ptr<LimitedWorker>>;

  // Updates each worker's estimate, and drops workers that are gone. Returns
  // the anonymous memory of the remaining workers, in bytes.
  std::uint64_t Look(Workers& workers) const;
  // Measures one worker by its page tables: among the workers that are due, the
  // one whose anonymous memory exceeds its estimate (`own_`) most.
  void Measure(const Workers& workers) const;
  // Ends the largest workers until the others have no more than the limit.
  // Returns how many were ended.
  std::uint64_t EndLargest(const Workers& workers) const;
  // Logs the end of a worker, at most once in ten seconds for each group.
  void Log(const LimitedWorker& worker, const Overrun& overrun) const;
  // Raises most() by one for each group that had a worker ended, if kRaiseNanos
  // have passed since it last changed.
  void Raise(const Workers& workers) const;

  const std::uint64_t limit_;
  const base::Clock* const clock_;
  mutable base::Mutex mutex_;
  Workers workers_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_MEMORY_LIMITER_H_
