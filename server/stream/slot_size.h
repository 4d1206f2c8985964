#ifndef FOREBAY_SERVER_STREAM_SLOT_SIZE_H_
#define FOREBAY_SERVER_STREAM_SLOT_SIZE_H_

#include <cstdint>

namespace forebay::stream {

// The bytes of a slot's parts.
struct SlotSize {
  std::uint64_t host = 0;
  std::uint64_t device = 0;  // on each GPU; 0: nothing lies there
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SLOT_SIZE_H_
