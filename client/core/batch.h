#ifndef FOREBAY_CLIENT_CORE_BATCH_H_
#define FOREBAY_CLIENT_CORE_BATCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/base/status.h"
#include "client/device/gpu.h"
#include "client/shm/slot_map.h"
#include "proto/shm_layout.h"
#include "proto/shm_ring.h"

namespace forebay::client::core {
class Subscription;
}  // namespace forebay::client::core

// A batch that the user holds: a lease on a slot, or a private copy of one.
// Reference-counted; the last owner passes it to Subscription::Release.
struct forebay_batch {
  std::atomic<std::uint32_t> references{1};
  std::shared_ptr<forebay::client::core::Subscription> subscription;
  forebay::proto::Release lease{};
  // Null if the memory is a private copy, which the batch owns.
  std::shared_ptr<forebay::client::shm::SlotMapping> mapping;
  std::uint8_t* data = nullptr;
  std::uint64_t copy_bytes = 0;
  // The sample after the batch's last, in this rank's epoch.
  std::uint64_t next_sample = 0;
  // A checked copy, as a stray write may change the slot's own header. Images
  // on a GPU are described as they will be.
  forebay::proto::BatchHeader header{};

  // Of a batch on a GPU:
  std::shared_ptr<forebay::client::device::ImportedMemory> part;
  std::vector<void*> streams;  // that use the part; the subscription guards it
  // Once released: of these, those that may still do so.
  std::atomic<std::uint32_t> awaited{0};

  ~forebay_batch();
};

namespace forebay::client::core {

// Copies the header out of a slot, whose device part has so many bytes. Checks
// every number in it against the entry that announced it and the slot's size.
// INTERNAL if one is wrong.
Status ReadHeader(const shm::SlotMapping& slot, std::uint64_t device_bytes,
                  const proto::ReadyEntry& entry, proto::BatchHeader* header);

// Finds the numbers of the batch's samples, in their order. They live as long
// as the batch; the user may overwrite them. INTERNAL if it has none.
Status SampleIds(const forebay_batch& batch, const std::int64_t** ids);

// Makes a batch of private memory with the same content and without a lease.
// RESOURCE_EXHAUSTED if there is no memory.
Status CopyBatch(const forebay_batch& batch,
                 std::unique_ptr<forebay_batch>* out);

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_BATCH_H_
