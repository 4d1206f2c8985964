#ifndef FOREBAY_TESTS_UNIT_SERVER_PRODUCER_PRODUCER_SET_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_PRODUCER_PRODUCER_SET_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "server/arena/shared_memory.h"
#include "server/base/clock.h"
#include "server/producer/producer_set.h"
#include "tests/unit/server/producer/fake_host.h"

namespace forebay::producer {

// A host that works on a fork for so long may be paused.
inline constexpr std::int64_t kLongNanos = 3'000'000'000;

// A set without producers, and a host on a thread.
class ProducerSetTest {
 protected:
  ~ProducerSetTest() {
    // Callbacks may hold it.
    set_->End();
    Settle();
  }

  void Start() { host_.emplace(*set_->Start(2, "job a")); }

  // The result of a callback, once it was called.
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

  ProducerSet::Region Region(std::shared_ptr<const void> kept = nullptr) {
    return {.fd = memory_.fd(),
            .data = memory_.data(),
            .bytes = memory_.bytes(),
            .kept = std::move(kept)};
  }
  absl::StatusOr<SharedSlot> Share(std::shared_ptr<const void> kept = nullptr) {
    const Later<SharedSlot> shared;
    set_->Share(Region(std::move(kept)), shared.callback());
    return shared.Get();
  }
  // Takes a producer, and waits for it.
  absl::StatusOr<ProducerPtr> Take(
      std::optional<std::uint32_t> number = std::nullopt) {
    const Later<ProducerPtr> taken;
    auto idle = set_->Take(number, taken.callback());
    if (!idle.ok() || *idle != nullptr) return idle;
    return taken.Get();
  }
  // Waits until the waiter has done what it has begun.
  void Settle() {
    std::promise<void> done;
    waiter_.Post([&] { done.set_value(); });
    done.get_future().wait();
  }

  base::FakeClock clock_;
  AnswerWaiter waiter_;
  const std::shared_ptr<ProducerSet> set_ = ProducerSet::Create(
      {64, 128}, "data", {.waiter = &waiter_, .clock = &clock_});
  arena::SharedMemory memory_ =
      *arena::SharedMemory::CreateUnsealed("forebay-test", 4096);
  std::optional<FakeHost> host_;
};

}  // namespace forebay::producer

#endif  // FOREBAY_TESTS_UNIT_SERVER_PRODUCER_PRODUCER_SET_FIXTURE_H_
