#ifndef FOREBAY_SERVER_STREAM_BATCH_ROOM_H_
#define FOREBAY_SERVER_STREAM_BATCH_ROOM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/stream/sample_room.h"

namespace forebay::stream {

// The room of a batch, for all samples together: each sample of a batch takes
// as much as the index says, not as much as the longest of the dataset.
struct BatchRoom {
  // Of each field, enough for any batch; 0 for one that does not vary.
  std::vector<std::uint64_t> bytes;
  std::shared_ptr<const SampleRoom> samples;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_ROOM_H_
