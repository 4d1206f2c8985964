#ifndef FOREBAY_SERVER_STREAM_SLOT_GROWTH_H_
#define FOREBAY_SERVER_STREAM_SLOT_GROWTH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/executor/executor.h"
#include "server/stream/aside.h"
#include "server/stream/slot_maker.h"
#include "server/stream/slot_memory.h"
#include "server/stream/slot_size.h"
#include "server/stream/staging_pool.h"
#include "server/stream/stream_plan.h"
#include "server/stream/stream_state.h"
#include "server/worker/answer_waiter.h"
#include "server/worker/worker_set.h"

namespace forebay::stream {

// Has the slots and the staging memory made that a stream's plans ask for, and
// adds them to the stream's state. If memory that members wait for cannot be
// made, ends their epochs.
//
// Thread-safe. Owns the SlotMaker; the state, the executor and the waiter
// outlive it. Tasks and callbacks keep the owner alive that SetOwner names.
// MakeFirst, and slot_maker(), block while the kernel or a driver makes memory;
// nothing else blocks. Errors end epochs: those of SlotMaker.
class SlotGrowth {
 public:
  struct Deps {
    StreamState* state = nullptr;
    executor::Executor* executor = nullptr;
    // Null if no workers write the memory.
    worker::AnswerWaiter* answer_waiter = nullptr;
    // The workers that write the slots; null if the daemon makes the samples.
    std::shared_ptr<worker::WorkerSet> workers;
    // Whether workers write staging memory too.
    bool workers_stage = false;
    bool is_live = false;
    // Calls `change` with the state's mutex held. `change` returns whether it
    // has changed the state. If so, plans and executes what follows.
    std::function<void(absl::FunctionRef<bool()> change)> update;
    // Ends the epochs of all members with `status`, unless it is OK.
    std::function<void(const absl::Status& status)> end_all_epochs;
  };

  SlotGrowth(const SlotSize& size, const Aside& aside, Deps deps);

  // Names the owner of this object, which tasks and callbacks keep alive.
  // Called once, before all other methods.
  void SetOwner(const std::shared_ptr<const void>& owner) {
    self_ = std::shared_ptr<SlotGrowth>(owner, this);
  }

  // Submits tasks that make the memory of the plan.
  void Submit(const StreamPlan& plan);
  // Makes the first `slots` slots, for MemberMemory::GrowFirst.
  void MakeFirst(std::uint32_t slots);

  SlotMaker& slot_maker() { return slot_maker_; }

 private:
  // Returns the SlotMaker's view of the workers.
  SlotMaker::Workers Workers();
  // Wraps the reservation of memory that workers write. When the result is
  // released, the stream takes the reservation back.
  std::shared_ptr<const void> KeepLent(base::MemoryReservation lent,
                                       bool is_slot);
  void MakeSlot();
  void MakeStaging(std::uint32_t batches);
  void OnSlots(absl::StatusOr<std::vector<SlotParts>> made);
  void OnFirst(std::uint32_t slots,
               absl::StatusOr<std::vector<SlotParts>> made);
  void OnStaging(std::uint32_t batches,
                 absl::StatusOr<std::vector<StagingPool::Memory>> made);
  // Whether several members have an epoch under way.
  bool IsShared() const;

  const Deps deps_;
  const Aside aside_;
  // This object; not null once SetOwner was called. A callback that locks this
  // pointer keeps the owner alive.
  std::weak_ptr<SlotGrowth> self_;
  SlotMaker slot_maker_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_GROWTH_H_
