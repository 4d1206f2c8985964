#ifndef FOREBAY_CLIENT_BATCH_H_
#define FOREBAY_CLIENT_BATCH_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "client/slot_map.h"
#include "client/status.h"
#include "proto/shm_layout.h"
#include "proto/shm_ring.h"

namespace forebay::client {
class Link;
}  // namespace forebay::client

// A batch in the user's hands: a lease on a slot, or a private copy of one.
// Counted references; whoever drops the last one passes it to Link::Release.
struct forebay_batch {
  std::atomic<std::uint32_t> references{1};
  std::shared_ptr<forebay::client::Link> link;
  forebay::proto::Release lease{};
  // Null: the memory is a private copy, which the batch owns.
  std::shared_ptr<forebay::client::SlotMapping> mapping;
  std::uint8_t* data = nullptr;
  std::uint64_t copy_bytes = 0;
  // Of this rank's epoch: the sample after the batch's last.
  std::uint64_t next_sample = 0;
  // A checked copy: the slot's own header may be changed by a stray write.
  forebay::proto::BatchHeader header{};

  ~forebay_batch();
};

namespace forebay::client {

// Copies the header out of a slot and checks every number in it against the
// entry that announced it and the slot's size. INTERNAL if one is wrong.
Status ReadHeader(const SlotMapping& slot, const proto::ReadyEntry& entry,
                  proto::BatchHeader* header);

// The numbers of the batch's samples, in their order; they live as long as it,
// and are the user's to overwrite. INTERNAL if it does not tell.
Status SampleIds(const forebay_batch& batch, const std::int64_t** ids);

// A batch of private memory with the same content, that holds no lease.
// RESOURCE_EXHAUSTED without memory.
Status CopyBatch(const forebay_batch& batch,
                 std::unique_ptr<forebay_batch>* out);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_BATCH_H_
