#ifndef FOREBAY_SERVER_STREAM_SLOT_SIZE_H_
#define FOREBAY_SERVER_STREAM_SLOT_SIZE_H_

#include <cstdint>

namespace forebay::stream {

// The sizes of a slot's parts, in bytes.
struct SlotSize {
  std::uint64_t host = 0;
  // The part on each GPU; 0 if nothing lies there.
  std::uint64_t device = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_SIZE_H_
