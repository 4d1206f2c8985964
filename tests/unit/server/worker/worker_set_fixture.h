#ifndef FOREBAY_TESTS_UNIT_SERVER_WORKER_WORKER_SET_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_WORKER_WORKER_SET_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "server/base/clock.h"
#include "server/slots/shared_memory.h"
#include "server/worker/worker_set.h"
#include "tests/unit/server/worker/fake_worker_pool.h"

namespace forebay::worker {

// A worker pool that works on a fork for so many nanoseconds counts as paused.
inline constexpr std::int64_t kLongNanos = 3'000'000'000;

// A set without workers, and a worker pool on a thread.
class WorkerSetTest {
 protected:
  ~WorkerSetTest() {
    // Waits, because callbacks may refer to this object.
    set_->End();
    Settle();
  }

  void Start() { pool_.emplace(*set_->Start(2, "job a")); }

  // The result of a callback. Get() waits for it.
  template <typename Value>
  struct Later {
    std::shared_ptr<std::promise<absl::StatusOr<Value>>> promise =
        std::make_shared<std::promise<absl::StatusOr<Value>>>();

    std::function<void(absl::StatusOr<Value>)> callback() const {
      return [promise = promise](absl::StatusOr<Value> value) {
        promise->set_value(std::move(value));
      };
    }
    absl::StatusOr<Value> Get() const { return promise->get_future().get(); }
  };

  WorkerSet::Region Region(std::shared_ptr<const void> owner = nullptr) {
    return {.fd = memory_.fd(),
            .data = memory_.data(),
            .bytes = memory_.bytes(),
            .owner = std::move(owner)};
  }
  absl::StatusOr<SharedSlot> Share(
      std::shared_ptr<const void> owner = nullptr) {
    const Later<SharedSlot> shared;
    set_->Share(Region(std::move(owner)), shared.callback());
    return shared.Get();
  }
  // Takes a worker, and waits for it.
  absl::StatusOr<WorkerPtr> Take(
      std::optional<std::uint32_t> number = std::nullopt) {
    const Later<WorkerPtr> taken;
    auto idle = set_->Take(number, taken.callback());
    if (!idle.ok() || *idle != nullptr) return idle;
    return taken.Get();
  }
  // Waits until the waiter has finished what it has begun.
  void Settle() {
    std::promise<void> done;
    waiter_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }

  base::FakeClock clock_;
  AnswerWaiter waiter_;
  const std::shared_ptr<WorkerSet> set_ = WorkerSet::Create(
      {64, 128}, "data", {.waiter = &waiter_, .clock = &clock_});
  slots::SharedMemory memory_ =
      *slots::SharedMemory::CreateUnsealed("forebay-test", 4096);
  std::optional<FakeWorkerPool> pool_;
};

}  // namespace forebay::worker

#endif  // FOREBAY_TESTS_UNIT_SERVER_WORKER_WORKER_SET_FIXTURE_H_
