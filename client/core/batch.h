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
// Reference-counted. The last owner passes the batch to Subscription::Release.
// Any thread may read it. Shares the subscription and the slot's mapping.
struct forebay_batch {
  std::atomic<std::uint32_t> references{1};
  std::shared_ptr<forebay::client::core::Subscription> subscription;
  // The slot and its generation, which are pushed to the release ring when the
  // lease ends.
  forebay::proto::Release lease{};
  // The slot's mapping; null if the batch is a private copy, which owns its
  // memory.
  std::shared_ptr<forebay::client::shm::SlotMapping> mapping;
  std::uint8_t* data = nullptr;
  std::uint64_t copy_bytes = 0;  // bytes of the private copy; 0: there is none
  // The position, in this rank's epoch, of the sample that follows the batch's
  // last sample.
  std::uint64_t next_sample = 0;
  // A checked copy of the slot's header. A stray write by the user can change
  // the header in the slot, but not this copy. In this copy, images on a GPU
  // have the type and shape that ImageTail makes.
  forebay::proto::BatchHeader header{};

  // The slot's part on the GPU; null for batches on the host.
  std::shared_ptr<forebay::client::device::ImportedMemory> part;
  // The streams that use the part. The subscription's mutex guards the list.
  std::vector<void*> streams;
  // The number of `streams` that the lease still waits for; 0 until the batch
  // is released.
  std::atomic<std::uint32_t> awaited{0};

  ~forebay_batch();
};

namespace forebay::client::core {

// Copies the header out of a slot whose device part has `device_bytes` bytes
// (0: no device part). Checks every number in the header against `entry`, which
// announced the batch, and against the slot's size. INTERNAL: a number is
// wrong.
Status ReadHeader(const shm::SlotMapping& slot, std::uint64_t device_bytes,
                  const proto::ReadyEntry& entry, proto::BatchHeader* header);

// Finds the numbers of the batch's samples, in their order. The numbers live as
// long as the batch; the user may overwrite them. INTERNAL if the batch has no
// field of sample numbers.
Status SampleIds(const forebay_batch& batch, const std::int64_t** ids);

// Makes a batch of private memory with the same content and without a lease.
// RESOURCE_EXHAUSTED if there is no memory.
Status CopyBatch(const forebay_batch& batch,
                 std::unique_ptr<forebay_batch>* out);

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_BATCH_H_
