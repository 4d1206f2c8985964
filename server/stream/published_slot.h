#ifndef FOREBAY_SERVER_STREAM_PUBLISHED_SLOT_H_
#define FOREBAY_SERVER_STREAM_PUBLISHED_SLOT_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "server/stream/batch.h"
#include "server/stream/batch_cache.h"
#include "server/stream/slot_copy.h"

namespace forebay::stream {

// The slot of a cached batch, under a lease of the stream's own, so that
// nothing is written to the slot while it is copied.
//
// Not thread-safe: the stream guards Lease and Release; any thread may copy
// source() in between. Shares the GPU and the slot's part there. Each result of
// Lease is given to Release once, while the batch cache exists. Never blocks.
// Errors: Lease.
class PublishedSlot {
 public:
  // Leases the slot of the batch of that key. UNAVAILABLE: the batch is not
  // cached now, or failed, or has no good copy on any GPU although the slots
  // have parts on GPUs.
  static absl::StatusOr<PublishedSlot> Lease(const BatchKey& key,
                                             BatchCache* batch_cache);
  // Ends the lease.
  void Release(BatchCache* batch_cache) const;

  const SlotSource& source() const { return source_; }

 private:
  PublishedSlot(std::uint32_t slot, std::uint32_t generation, SlotSource source)
      : slot_(slot), generation_(generation), source_(std::move(source)) {}

  std::uint32_t slot_;
  std::uint32_t generation_;
  SlotSource source_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PUBLISHED_SLOT_H_
