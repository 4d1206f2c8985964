#ifndef FOREBAY_SERVER_STREAM_PAIRING_H_
#define FOREBAY_SERVER_STREAM_PAIRING_H_

namespace forebay::stream {

// What members of a stream that go at different speeds are to each other.
enum class Pairing {
  // Nobody waits for anybody: who falls behind what is kept is served apart,
  // until they meet again.
  kElastic,
  // Nobody runs ahead of the others by more than there are slots, so that each
  // batch is made once.
  kLockstep,
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PAIRING_H_
