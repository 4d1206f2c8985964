#ifndef FOREBAY_SERVER_WORKER_TAKE_QUEUE_H_
#define FOREBAY_SERVER_WORKER_TAKE_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/worker/worker.h"

namespace forebay::worker {

using WorkerPtr = std::shared_ptr<Worker>;
// Receives a worker, or the error that says why there will be no worker.
using OnWorker = std::function<void(absl::StatusOr<WorkerPtr> worker)>;

// The tasks that wait for a worker: some for any worker, others for the worker
// of a certain number.
//
// Not thread-safe: the caller locks. Owns the callbacks, and calls none. Never
// blocks. No errors.
class TakeQueue {
 public:
  // Pairs of a task's callback and the result with which it is to be called.
  using Calls = std::deque<std::pair<OnWorker, absl::StatusOr<WorkerPtr>>>;

  void Add(std::optional<std::uint32_t> number, OnWorker on_worker) {
    waiting_.push_back({number, std::move(on_worker)});
  }
  void RemoveLast() { waiting_.pop_back(); }

  bool empty() const { return waiting_.empty(); }
  // Returns how many tasks wait for any worker.
  std::size_t WantAny() const {
    return static_cast<std::size_t>(
        std::count_if(waiting_.begin(), waiting_.end(),
                      [](const auto& one) { return !one.number.has_value(); }));
  }
  // Returns the numbers of the workers for which the other tasks wait.
  std::set<std::uint32_t> Numbers() const {
    std::set<std::uint32_t> numbers;
    for (const Waiting& one : waiting_)
      if (one.number.has_value()) numbers.insert(*one.number);
    return numbers;
  }

  // Removes and returns the first task that the worker of that number can do.
  // Returns null if there is none.
  OnWorker TakeFor(std::uint32_t number) {
    const auto found = std::find_if(
        waiting_.begin(), waiting_.end(),
        [&](const auto& one) { return one.number.value_or(number) == number; });
    if (found == waiting_.end()) return nullptr;
    OnWorker on_worker = std::move(found->on_worker);
    waiting_.erase(found);
    return on_worker;
  }
  // Removes all tasks, and appends them to `calls` with the error.
  void FailAll(const absl::Status& status, Calls* calls) {
    for (Waiting& one : waiting_)
      calls->emplace_back(std::move(one.on_worker), status);
    waiting_.clear();
  }

 private:
  struct Waiting {
    std::optional<std::uint32_t> number;
    OnWorker on_worker;
  };
  std::deque<Waiting> waiting_;
};

}  // namespace forebay::worker

#endif  // FOREBAY_SERVER_WORKER_TAKE_QUEUE_H_
