#ifndef FOREBAY_SERVER_STREAM_SHARING_STATE_H_
#define FOREBAY_SERVER_STREAM_SHARING_STATE_H_

#include <cstdint>

namespace forebay::stream {

// The relation of a member to the other members of its stream.
enum class SharingState {
  // No other member has an epoch under way.
  kAlone,
  // Others read the same batches at the same time.
  kTogether,
  // The member is behind, and reads cached batches.
  kTrailing,
  // The member is behind, and all batches are made for it until it has caught
  // up.
  kCatching,
  // The member is ahead, and waits for a member that catches up.
  kYielding,
  // The member has batches made for itself alone.
  kApart,
};

// The sharing state of a member, and how far behind it is.
struct Sharing {
  // Samples between the member and the one furthest ahead.
  std::uint64_t behind = 0;
  SharingState state = SharingState::kAlone;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SHARING_STATE_H_
