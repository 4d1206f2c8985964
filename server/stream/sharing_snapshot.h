#ifndef FOREBAY_SERVER_STREAM_SHARING_SNAPSHOT_H_
#define FOREBAY_SERVER_STREAM_SHARING_SNAPSHOT_H_

#include <cstdint>

#include "server/stream/batch_scheduler.h"
#include "server/stream/member.h"
#include "server/stream/member_set.h"
#include "server/stream/sharing_state.h"

namespace forebay::stream {

// A member beside the others of its stream.
struct SharingSnapshot {
  std::uint32_t running = 0;  // members that have an epoch under way
  std::uint64_t behind = 0;   // samples between it and the first member
  SharingState sharing_state = SharingState::kAlone;
};

// Not thread-safe: the stream guards what it is called with. Never blocks; no
// errors.
SharingSnapshot SharingOf(Member& member, const MemberSet& members,
                          const BatchScheduler& scheduler,
                          std::int64_t now_nanos);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SHARING_SNAPSHOT_H_
