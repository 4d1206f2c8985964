#ifndef FOREBAY_SERVER_STREAM_STREAM_SNAPSHOT_H_
#define FOREBAY_SERVER_STREAM_STREAM_SNAPSHOT_H_

#include <algorithm>
#include <cstdint>

#include "proto/counters.pb.h"
#include "server/slots/slot_pool.h"
#include "server/stream/sharing_state.h"

namespace forebay::stream {

// The reads of a stream that are in flight.
struct PrefetchSnapshot {
  // Bytes that may be in flight.
  std::uint64_t window = 0;
  std::uint32_t reads_in_flight = 0;
  // Bytes that are being read, or were read and are not decoded yet.
  std::uint64_t bytes_in_flight = 0;
};

// The state of a stream at one moment, as one of its members sees it.
struct StreamSnapshot {
  std::uint64_t epoch = 0;
  bool running = false;
  std::uint32_t slots = 0;
  slots::SlotCounts slot_counts;
  // The leases of the member.
  std::uint32_t leases = 0;
  // Batches that may be in flight or ready for the member.
  std::uint32_t depth = 0;
  PrefetchSnapshot prefetch;
  std::uint32_t samples_to_decode = 0;
  // How many of the slots in slot_counts.filling are being copied to GPUs.
  std::uint32_t slots_copying = 0;
  // The member's counters; those that the client reports are unset.
  proto::LoaderCounters counters;
  // Samples delivered to the member in the epoch under way.
  std::uint64_t position = 0;
  // Batches published to the member that it has not taken.
  std::uint32_t untaken = 0;
  // Members that have an epoch under way.
  std::uint32_t members = 0;
  Sharing sharing;

  // Return the number of the member's leases: on batches that it has not taken,
  // and on batches that it holds.
  std::uint32_t ready() const { return std::min(untaken, leases); }
  std::uint32_t held() const { return leases - ready(); }
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_SNAPSHOT_H_
