#ifndef FOREBAY_SERVER_STREAM_AGENDA_H_
#define FOREBAY_SERVER_STREAM_AGENDA_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "server/arena/slot_pool.h"
#include "server/stream/batch.h"

namespace forebay::stream {

// What one member wants to be made next, because it is neither there nor in the
// making.
struct Wish {
  arena::Holder member = 0;
  BatchKey key;
  Position position = 0;
  std::uint64_t left = 0;    // samples of its epoch, from there on
  bool open = false;         // it may have one more in the making now
  bool hungry = false;       // its trainer waits for what is made
  bool has_nothing = false;  // neither to take nor on its way
  bool claims = false;       // who is ahead gives way to it, if to anybody
  double served = 0;         // batches that were made for it so far
};

// Whether who stands at `leader` would give way to who stands behind it: until
// these meet, all that is made goes to the latter. Where production is what
// both wait for, both end sooner than with a sequence each, provided that the
// leader has enough left: taken to be so if that is more than twice the gap.
bool GivesWay(const Wish& leader, const Wish& follower);

// The wish that is granted next: of those that are open, and give way to nobody
// who claims it, the one that was served least. nullopt: none. Pure.
std::optional<std::size_t> NextWish(absl::Span<const Wish> wishes);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_AGENDA_H_
