#ifndef FOREBAY_SERVER_STREAM_COMPARISON_H_
#define FOREBAY_SERVER_STREAM_COMPARISON_H_

#include <cstdint>

#include "server/stream/audience.h"
#include "server/stream/member.h"
#include "server/stream/planner.h"
#include "server/stream/standing.h"

namespace forebay::stream {

// A member beside the others of its stream.
struct Comparison {
  std::uint32_t running = 0;  // members that have an epoch under way
  std::uint64_t behind = 0;   // samples between it and who is ahead of all
  Standing standing = Standing::kAlone;
};

// Not thread-safe: the stream guards what it is called with. Never blocks; no
// errors.
Comparison Compare(Member& member, const Audience& audience,
                   const Planner& planner, std::int64_t now_nanos);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_COMPARISON_H_
