#ifndef FOREBAY_SERVER_STREAM_SHARING_STATE_H_
#define FOREBAY_SERVER_STREAM_SHARING_STATE_H_

#include <cstdint>

namespace forebay::stream {

// How a member goes along with the other members of its stream.
enum class SharingState {
  kAlone,     // no other has an epoch under way
  kTogether,  // others read the same batches at the same time
  kTrailing,  // behind, and reads cached batches
  kCatching,  // behind, and all batches are made for it until it has caught up
  kYielding,  // ahead, and waits for a member that catches up
  kApart,     // has batches made for itself alone
};

// A member beside the others of its stream.
struct Sharing {
  std::uint64_t behind = 0;  // samples between it and the first member
  SharingState state = SharingState::kAlone;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SHARING_STATE_H_
