#ifndef FOREBAY_SERVER_STREAM_MEMBER_MEMORY_H_
#define FOREBAY_SERVER_STREAM_MEMBER_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "server/base/memory_budget.h"
#include "server/device/device.h"
#include "server/stream/batch_cache.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member.h"
#include "server/stream/member_set.h"
#include "server/stream/slot_memory.h"
#include "server/stream/staging_pool.h"

namespace forebay::stream {

// Memory that a stream gave back. It is destroyed without the stream's mutex,
// since that may take milliseconds or wait for a GPU.
struct FreedMemory {
  std::vector<SlotParts> slots;
  std::vector<DevicePart> device_parts;
  std::vector<StagingPool::Memory> staging;
};

// The memory that the members of a stream pay for: slots, the slots' parts on
// GPUs, and as much staging memory. Each member reserves its part when it
// joins. Memory that no member pays for is given back by Trim, at the latest.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Owns nothing. Never blocks, but the caller may block when it destroys
// FreedMemory. Errors: Join.
class MemberMemory {
 public:
  MemberMemory(BatchCache* batch_cache, StagingPool* staging,
               InFlightBatches* in_flight)
      : batch_cache_(batch_cache), staging_(staging), in_flight_(in_flight) {}

  // Reserves the memory of a member. An error reserves nothing.
  // RESOURCE_EXHAUSTED: a budget has no room.
  absl::Status Join(const Member::Terms& terms);
  // Ends the payment of a member that could not join.
  void CancelJoin(const Member::Terms& terms);
  // Ends the payment of a member that has left. If it was the last member on
  // its GPU, frees what lies there.
  void Leave(const Member::Terms& terms, FreedMemory* freed);
  // Reduces what a closed member pays for to the slots that it holds.
  void PayForHeld(Member* member);

  // Returns how many first slots are to be made for the members whose epoch is
  // under way, as BatchCache::GrowFirst does; 0 for none.
  std::uint32_t GrowFirst(const MemberSet& members);

  // Frees slots and staging memory that no member pays for. Called only while
  // no member has an epoch under way.
  void Trim(FreedMemory* freed);
  // Frees all slots and all staging memory. No slot may be leased, being filled
  // or being made.
  void Clear(FreedMemory* freed);

  // Takes back a reservation that was lent to a slot, or to staging memory.
  void TakeBack(base::MemoryReservation lent, bool is_slot);
  // Lets memory that could not be made be tried again.
  void TryAgain();

 private:
  void LeaveDevice(const device::Device& device, FreedMemory* freed);

  BatchCache* const batch_cache_;
  StagingPool* const staging_;
  InFlightBatches* const in_flight_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_MEMBER_MEMORY_H_
