#ifndef FOREBAY_SERVER_STREAM_SLOT_MAKER_H_
#define FOREBAY_SERVER_STREAM_SLOT_MAKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/device/device.h"
#include "server/executor/executor.h"
#include "server/stream/aside.h"
#include "server/stream/batch_cache.h"
#include "server/stream/slot_memory.h"
#include "server/stream/slot_size.h"
#include "server/stream/staging_pool.h"
#include "server/worker/worker_set.h"

namespace forebay::stream {

// Makes the memory of a stream's slots, their parts on GPUs, and staging
// memory. This takes milliseconds, so it is done without the stream's mutex;
// members, slots and GPUs may come and go meanwhile. If workers write the
// memory, their worker pool maps it before it is sealed. The worker pool may be
// stopped for hours, so no thread waits for it, only callbacks.
//
// Thread-safe. The stream's mutex, and what it guards, outlive it; callbacks
// keep the stream alive. Blocks while the kernel or a driver makes memory, and
// never for a worker pool. Callbacks run on the caller's thread, or later on
// the waiter's thread; memory that they drop is destroyed aside (aside.h).
// Errors: those of SlotMemory, device::Device and worker::WorkerSet.
class SlotMaker {
 public:
  using OnSlots =
      std::function<void(absl::StatusOr<std::vector<SlotParts>> slots)>;
  using OnStaging = std::function<void(
      absl::StatusOr<std::vector<StagingPool::Memory>> staging)>;

  // Wraps the lent reservation of a slot, or of staging memory. The reservation
  // goes back to the stream when the result is released.
  using KeepLent = std::function<std::shared_ptr<const void>(
      base::MemoryReservation lent, bool is_slot)>;
  struct Workers {
    // The workers; null if they write no slots.
    std::shared_ptr<worker::WorkerSet> set;
    // Whether workers write staging memory too.
    bool stage = false;
    KeepLent keep;
  };

  SlotMaker(const SlotSize& size, Workers workers, Aside aside,
            base::Mutex* mutex, BatchCache* batch_cache, StagingPool* staging)
      : size_(size),
        workers_(std::move(workers)),
        aside_(std::move(aside)),
        mutex_(mutex),
        batch_cache_(batch_cache),
        staging_(staging) {}

  // Makes the first `slots` slots, if there are none. Called only if no workers
  // write the slots. If there are several callers, the first makes the slots
  // and the others wait for it. If slots have parts on GPUs, each caller makes
  // slots, and the first to finish adds its own.
  absl::Status AddFirstSlots(std::uint32_t slots) ABSL_LOCKS_EXCLUDED(*mutex_);
  // Gives each slot a part on the GPU, and makes the staging memory that is
  // missing. If workers write staging memory and some was missing, returns
  // before the worker pool has mapped it. `ready` is then called once, later,
  // on the waiter's thread: with OK, or with the mapping's error. This holds
  // even if the GPU's parts fail and PrepareDevice returns their error, because
  // other members wait for the staging memory too. In all other cases, `ready`
  // is never called.
  absl::Status PrepareDevice(const DevicePtr& device,
                             std::function<void(const absl::Status&)> ready)
      ABSL_LOCKS_EXCLUDED(*mutex_);

  // Returns the demand of MakeSlots.
  executor::Demand DemandOfSlots(std::uint32_t slots) const;
  // Returns the demand of MakeStaging, which counts as long: a driver may take
  // any time.
  static executor::Demand DemandOfStaging() { return {.may_be_long = true}; }

  // Makes slots, for BatchCache::Grown, with parts on the GPUs that
  // SlotMemory::DevicesToMakeFor returns.
  void MakeSlots(std::uint32_t slots, OnSlots done) const
      ABSL_LOCKS_EXCLUDED(*mutex_);
  // Makes staging memory for `batches` batches, for StagingPool::Grown. Calls
  // `done` with no memory if no attached GPU can make it.
  void MakeStaging(std::uint32_t batches, const OnStaging& done) const
      ABSL_LOCKS_EXCLUDED(*mutex_);

 private:
  using Region = worker::WorkerSet::Region;
  using Owners = std::vector<std::shared_ptr<const void>>;
  using OnShared = std::function<void(
      absl::StatusOr<std::vector<worker::SharedSlot>> shared)>;

  // Wraps each of the lent reservations by KeepLent.
  Owners Keep(std::vector<base::MemoryReservation> lent, bool is_slot) const;
  // Wraps the slots' parts on GPUs, so that they are destroyed aside.
  void KeepParts(std::vector<SlotParts>& slots) const;
  // Calls SlotMemory::MakeParts. The parts are destroyed aside.
  absl::StatusOr<std::vector<DevicePart>> MakeParts(
      std::uint32_t slots, device::Device& device) const;
  // Asks the worker pool to map all regions, then calls `done` with the claims.
  // `done` keeps the regions' memory alive.
  void Share(std::vector<Region> regions, OnShared done) const;
  // Makes staging memory for `batches` batches, pinned by the GPU.
  absl::StatusOr<std::vector<StagingPool::Memory>> MakeStagingBy(
      device::Device& device, std::uint32_t batches) const;
  // Asks the worker pool to map staging memory, seals the memory, then calls
  // `done` with it.
  void ShareStaging(std::vector<StagingPool::Memory> staging, Owners owners,
                    OnStaging done) const;
  // Gives each slot a part on the GPU, also first slots that are still being
  // made.
  absl::Status AttachDevice(const DevicePtr& device)
      ABSL_LOCKS_EXCLUDED(*mutex_);

  const SlotSize size_;
  const Workers workers_;
  const Aside aside_;
  base::Mutex* const mutex_;
  BatchCache* const batch_cache_ ABSL_PT_GUARDED_BY(*mutex_);
  StagingPool* const staging_ ABSL_PT_GUARDED_BY(*mutex_);
  // Whether a caller of AddFirstSlots makes the first slots.
  bool making_first_ ABSL_GUARDED_BY(*mutex_) = false;
  base::CondVar first_slots_done_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_MAKER_H_
