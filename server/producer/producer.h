#ifndef FOREBAY_SERVER_PRODUCER_PRODUCER_H_
#define FOREBAY_SERVER_PRODUCER_PRODUCER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/producer/host.h"
#include "server/producer/memory_limiter.h"
#include "server/producer/stall_policy.h"
#include "server/producer/task_socket.h"

namespace forebay::producer {

// A process that makes samples. Thread-safe but for the socket, which is that
// of the caller that has taken the producer. Never blocks; no errors.
class Producer {
 public:
  // `mapped`: the memory that it can write. `generation`: of the slots that
  // there were.
  Producer(TaskSocket task_socket, std::uint32_t number,
           std::uint64_t generation, Mappings mapped,
           std::shared_ptr<const LimitedProducer> limited)
      : socket(std::move(task_socket)),
        number_(number),
        generation_(generation),
        mapped_(std::move(mapped)),
        limited_(std::move(limited)) {}

  // Among those of its host.
  std::uint32_t number() const { return number_; }
  std::uint64_t generation() const { return generation_; }
  // Null if the process cannot be seen.
  Process* process() const {
    return limited_ == nullptr ? nullptr : &limited_->process();
  }
  // Why it was ended; nullopt if it was not ended for its memory.
  std::optional<Overrun> overrun() const {
    return limited_ == nullptr ? std::nullopt : limited_->overrun();
  }
  // Why its task is to go to another; nullopt if it is not.
  std::optional<Stall> stall() const {
    const int stall = stall_;
    return stall == kNoStall ? std::nullopt
                             : std::optional(static_cast<Stall>(stall));
  }

  // Whether the process has ended, or has said something without a task.
  bool HasLeft() const;

  // Says that it gets a task. `has_retried`: as BusyProducer's.
  void Begin(std::int64_t now_nanos, bool has_retried) {
    has_retried_ = has_retried;
    asked_at_nanos_ = now_nanos;
  }

  TaskSocket socket;

 private:
  friend class ProducerSet;

  // Looks at the process. One thread at a time. Returns nullopt if it has no
  // task, or cannot be seen.
  std::optional<BusyProducer> Look(std::int64_t now_nanos);

  // Kills the process, so that another producer may do its task. Returns
  // whether that was allowed.
  bool Kill(Stall stall);

  const std::uint32_t number_;
  const std::uint64_t generation_;
  const Mappings mapped_;
  const std::shared_ptr<const LimitedProducer> limited_;
  static constexpr std::int64_t kNoTask = INT64_MIN;
  static constexpr int kNoStall = -1;
  std::atomic<std::int64_t> asked_at_nanos_ = kNoTask;
  std::atomic<bool> has_retried_ = false;
  std::atomic<int> stall_ = kNoStall;
  // Of Look.
  BusyProducer seen_;
  std::int64_t seen_cpu_nanos_ = -1;
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_PRODUCER_H_
