#ifndef FOREBAY_SERVER_STREAM_BATCH_ROOM_H_
#define FOREBAY_SERVER_STREAM_BATCH_ROOM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/stream/sample_room.h"

namespace forebay::stream {

// The room of a batch, for all of its samples together. Each sample takes as
// much as the index says, not as much as the longest sample of the dataset.
struct BatchRoom {
  // The bytes for each field that suffice for any batch; 0 for a field that
  // does not vary.
  std::vector<std::uint64_t> bytes;
  // The room of each single sample.
  std::shared_ptr<const SampleRoom> samples;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_ROOM_H_
