#ifndef FOREBAY_SERVER_STREAM_SHARING_MODE_H_
#define FOREBAY_SERVER_STREAM_SHARING_MODE_H_

namespace forebay::stream {

// The way in which a stream treats members that read at different speeds.
enum class SharingMode {
  // Members never wait for each other. A member that falls behind the cached
  // batches has batches of its own made, until it meets the others again.
  kElastic,
  // No member runs ahead of the others by more than there are slots, so that
  // each batch is made once.
  kLockstep,
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SHARING_MODE_H_
