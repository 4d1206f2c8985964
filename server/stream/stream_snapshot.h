#ifndef FOREBAY_SERVER_STREAM_STREAM_SNAPSHOT_H_
#define FOREBAY_SERVER_STREAM_STREAM_SNAPSHOT_H_

#include <algorithm>
#include <cstdint>

#include "server/arena/slot_pool.h"
#include "server/stream/sharing_state.h"

namespace forebay::stream {

// Counts the batches that one member took.
struct MemberCounters {
  std::uint64_t samples_delivered = 0;
  std::uint64_t batches_delivered = 0;
  std::uint64_t bytes_delivered = 0;
  std::uint64_t position = 0;  // samples delivered in the epoch under way
  std::uint32_t ready = 0;     // batches published and not taken
};

// Counts the work done for one member: its part of work done for several.
struct Production {
  std::uint64_t bytes_read = 0;
  std::uint64_t samples_decoded = 0;  // from encoded bytes
  std::uint64_t samples_substituted = 0;
  std::uint64_t cpu_nanos = 0;
};

// The reads of a stream that are in flight.
struct PrefetchSnapshot {
  std::uint64_t window = 0;  // bytes that may be in flight
  std::uint32_t reads_in_flight = 0;
  std::uint64_t bytes_in_flight = 0;  // until they are decoded
};

// The state of a stream at one moment, as one of its members sees it.
struct StreamSnapshot {
  std::uint64_t epoch = 0;
  bool running = false;
  std::uint32_t slots = 0;
  arena::SlotCounts slot_counts;
  std::uint32_t leases = 0;  // the member's
  std::uint32_t depth = 0;   // batches that may be in flight or ready
  PrefetchSnapshot prefetch;
  std::uint32_t samples_to_decode = 0;
  std::uint32_t slots_copying = 0;  // of slot_counts.filling
  Production made;                  // for the member
  MemberCounters taken;
  std::uint32_t members = 0;  // that have an epoch under way
  Sharing sharing;

  // The member's leases on batches that it has not taken, and on those that it
  // holds.
  std::uint32_t ready() const { return std::min(taken.ready, leases); }
  std::uint32_t held() const { return leases - ready(); }
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_SNAPSHOT_H_
