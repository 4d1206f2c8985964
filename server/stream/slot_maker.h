#ifndef FOREBAY_SERVER_STREAM_SLOT_MAKER_H_
#define FOREBAY_SERVER_STREAM_SLOT_MAKER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/mutex.h"
#include "server/device/device.h"
#include "server/producer/producer_set.h"
#include "server/stream/batch_cache.h"
#include "server/stream/slot_memory.h"
#include "server/stream/slot_size.h"
#include "server/stream/staging_pool.h"

namespace forebay::stream {

// Makes the memory of a stream's slots, their parts on GPUs, and staging
// memory. All that takes milliseconds, so it is done without the stream's
// mutex: meanwhile, members, slots and GPUs may come and go.
//
// Thread-safe. The stream's mutex, and what it guards, outlive it. Blocks while
// the kernel or a driver makes memory. Errors: those of SlotMemory,
// device::Device and producer::ProducerSet.
class SlotMaker {
 public:
  // `producers`: null if they write no slots; `producers_stage`: whether they
  // write staging memory, too.
  SlotMaker(const SlotSize& size,
            std::shared_ptr<producer::ProducerSet> producers,
            bool producers_stage, base::Mutex* mutex, BatchCache* batch_cache,
            StagingPool* staging)
      : size_(size),
        producers_(std::move(producers)),
        producers_stage_(producers_stage),
        mutex_(mutex),
        batch_cache_(batch_cache),
        staging_(staging) {}

  // Makes so many slots if there are none.
  absl::Status AddFirstSlots(std::uint32_t slots) ABSL_LOCKS_EXCLUDED(*mutex_);
  // Gives each slot a part on the GPU, and makes the staging memory that is
  // missing.
  absl::Status PrepareDevice(const DevicePtr& device)
      ABSL_LOCKS_EXCLUDED(*mutex_);

  // Makes one more slot, for BatchCache::Grown.
  absl::StatusOr<std::vector<SlotParts>> MakeSlot() const
      ABSL_LOCKS_EXCLUDED(*mutex_);
  // Makes staging memory for one more batch, for StagingPool::Grown; none if no
  // GPU can.
  std::vector<StagingPool::Memory> MakeStaging() const
      ABSL_LOCKS_EXCLUDED(*mutex_);

 private:
  std::vector<DevicePtr> AttachedDevices() const ABSL_LOCKS_EXCLUDED(*mutex_);
  // Makes staging memory for one batch, which producers can write if they make
  // the samples.
  absl::StatusOr<StagingPool::Memory> MakeStagingBy(
      device::Device& device) const;
  absl::Status AttachDevice(const DevicePtr& device)
      ABSL_LOCKS_EXCLUDED(*mutex_);

  const SlotSize size_;
  const std::shared_ptr<producer::ProducerSet> producers_;
  const bool producers_stage_;
  base::Mutex* const mutex_;
  BatchCache* const batch_cache_ ABSL_PT_GUARDED_BY(*mutex_);
  StagingPool* const staging_ ABSL_PT_GUARDED_BY(*mutex_);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_MAKER_H_
