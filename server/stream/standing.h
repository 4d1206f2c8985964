#ifndef FOREBAY_SERVER_STREAM_STANDING_H_
#define FOREBAY_SERVER_STREAM_STANDING_H_

namespace forebay::stream {

// How a member of a stream stands to the others.
enum class Standing {
  kAlone,     // no other has an epoch under way
  kTogether,  // what it gets others get, too
  kTrailing,  // behind, and finds what it needs among what is kept
  kCatching,  // behind, and all is made for it until it has caught up
  kYielding,  // ahead, and waits for who catches up
  kApart,     // has batches made for itself alone
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STANDING_H_
