#ifndef FOREBAY_SERVER_PRODUCER_TAKE_QUEUE_H_
#define FOREBAY_SERVER_PRODUCER_TAKE_QUEUE_H_

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
#include "server/producer/producer.h"

namespace forebay::producer {

using ProducerPtr = std::shared_ptr<Producer>;
using Taken = std::function<void(absl::StatusOr<ProducerPtr> producer)>;

// The tasks that wait for a producer: for any, or for that of a number. Not
// thread-safe. Owns the callbacks, and calls none. Never blocks; no errors.
class TakeQueue {
 public:
  // A task and what it gets.
  using Calls = std::deque<std::pair<Taken, absl::StatusOr<ProducerPtr>>>;

  void Add(std::optional<std::uint32_t> number, Taken taken) {
    waiting_.push_back({number, std::move(taken)});
  }
  void RemoveLast() { waiting_.pop_back(); }

  bool empty() const { return waiting_.empty(); }
  // How many wait for any producer.
  std::size_t WantAny() const {
    return static_cast<std::size_t>(
        std::count_if(waiting_.begin(), waiting_.end(),
                      [](const auto& one) { return !one.number.has_value(); }));
  }
  // The numbers of the producers that others wait for.
  std::set<std::uint32_t> Numbers() const {
    std::set<std::uint32_t> numbers;
    for (const Waiting& one : waiting_)
      if (one.number.has_value()) numbers.insert(*one.number);
    return numbers;
  }

  // Removes the first task that a producer of that number can do. Returns null
  // if there is none.
  Taken TakeFor(std::uint32_t number) {
    const auto found = std::find_if(
        waiting_.begin(), waiting_.end(),
        [&](const auto& one) { return one.number.value_or(number) == number; });
    if (found == waiting_.end()) return nullptr;
    Taken taken = std::move(found->taken);
    waiting_.erase(found);
    return taken;
  }
  // Removes all tasks, which get an error.
  void FailAll(const absl::Status& status, Calls* calls) {
    for (Waiting& one : waiting_)
      calls->emplace_back(std::move(one.taken), status);
    waiting_.clear();
  }

 private:
  struct Waiting {
    std::optional<std::uint32_t> number;
    Taken taken;
  };
  std::deque<Waiting> waiting_;
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_TAKE_QUEUE_H_
