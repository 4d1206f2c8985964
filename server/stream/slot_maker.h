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
#include "server/producer/producer_set.h"
#include "server/stream/aside.h"
#include "server/stream/batch_cache.h"
#include "server/stream/slot_memory.h"
#include "server/stream/slot_size.h"
#include "server/stream/staging_pool.h"

namespace forebay::stream {

// Makes the memory of a stream's slots, their parts on GPUs, and staging
// memory. All that takes milliseconds, so it is done without the stream's
// mutex: meanwhile, members, slots and GPUs may come and go. Where producers
// write the memory, their host maps it before it is sealed: that may take as
// long as the host is stopped, and is waited for by callbacks alone.
//
// Thread-safe. The stream's mutex, and what it guards, outlive it; callbacks
// keep the stream. Blocks while the kernel or a driver makes memory, and never
// for a host. Callbacks run on the caller's thread, or later on the waiter's:
// what they drop ends aside.
// Errors: those of SlotMemory, device::Device and producer::ProducerSet.
class SlotMaker {
 public:
  using OnSlots =
      std::function<void(absl::StatusOr<std::vector<SlotParts>> slots)>;
  using OnStaging = std::function<void(
      absl::StatusOr<std::vector<StagingPool::Memory>> made)>;

  // Keeps the lent reservation of a slot, or of staging memory, until the
  // result is released.
  using KeepLent = std::function<std::shared_ptr<const void>(
      base::MemoryReservation lent, bool is_slot)>;
  struct Producers {
    std::shared_ptr<producer::ProducerSet> set;  // null if they write no slots
    bool stage = false;  // whether they write staging memory, too
    KeepLent keep;
  };

  SlotMaker(const SlotSize& size, Producers producers, Aside aside,
            base::Mutex* mutex, BatchCache* batch_cache, StagingPool* staging)
      : size_(size),
        producers_(std::move(producers)),
        aside_(std::move(aside)),
        mutex_(mutex),
        batch_cache_(batch_cache),
        staging_(staging) {}

  // Makes so many slots if there are none, which no producers write. Of several
  // callers one makes them, and the others wait for that.
  absl::Status AddFirstSlots(std::uint32_t slots) ABSL_LOCKS_EXCLUDED(*mutex_);
  // Gives each slot a part on the GPU, and makes the staging memory that is
  // missing. If producers write that, it is there when `ready` is called, or
  // there is an error.
  absl::Status PrepareDevice(const DevicePtr& device,
                             std::function<void(const absl::Status&)> ready)
      ABSL_LOCKS_EXCLUDED(*mutex_);

  // The demand of MakeSlots, and that of MakeStaging. A driver may take long.
  executor::Demand DemandOfSlots(std::uint32_t slots) const;
  static executor::Demand DemandOfStaging() { return {.may_be_long = true}; }

  // Makes slots, for BatchCache::Grown, with parts on the GPUs that are to have
  // some.
  void MakeSlots(std::uint32_t slots, OnSlots done) const
      ABSL_LOCKS_EXCLUDED(*mutex_);
  // Makes staging memory, for StagingPool::Grown; none if no GPU can.
  void MakeStaging(std::uint32_t batches, const OnStaging& done) const
      ABSL_LOCKS_EXCLUDED(*mutex_);

 private:
  using Region = producer::ProducerSet::Region;
  using Kept = std::vector<std::shared_ptr<const void>>;
  using OnShared = std::function<void(
      absl::StatusOr<std::vector<producer::SharedSlot>> shared)>;

  Kept Keep(std::vector<base::MemoryReservation> lent, bool is_slot) const;
  // Lets the slots' parts on GPUs end aside.
  void KeepParts(std::vector<SlotParts>& slots) const;
  // As SlotMemory::MakeParts; they end aside.
  absl::StatusOr<std::vector<DevicePart>> MakeParts(
      std::uint32_t slots, device::Device& device) const;
  // Lets producers write all regions, which `done` keeps.
  void Share(std::vector<Region> regions, OnShared done) const;
  // Makes so many pieces of staging memory by the GPU.
  absl::StatusOr<std::vector<StagingPool::Memory>> MakeStagingBy(
      device::Device& device, std::uint32_t batches) const;
  // Lets producers write staging memory.
  void ShareStaging(std::vector<StagingPool::Memory> made, Kept kept,
                    OnStaging done) const;
  absl::Status AttachDevice(const DevicePtr& device)
      ABSL_LOCKS_EXCLUDED(*mutex_);

  const SlotSize size_;
  const Producers producers_;
  const Aside aside_;
  base::Mutex* const mutex_;
  BatchCache* const batch_cache_ ABSL_PT_GUARDED_BY(*mutex_);
  StagingPool* const staging_ ABSL_PT_GUARDED_BY(*mutex_);
  bool making_first_ ABSL_GUARDED_BY(*mutex_) =
      false;  // slots, for all callers
  base::CondVar first_made_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_MAKER_H_
