#ifndef FOREBAY_SERVER_STREAM_STREAM_PLAN_H_
#define FOREBAY_SERVER_STREAM_STREAM_PLAN_H_

#include <cstdint>
#include <vector>

#include "server/storage/byte_source.h"
#include "server/stream/sample_tasks.h"

namespace forebay::stream {

// The work that follows from a change of a stream's state, to be done without
// the stream's mutex.
struct StreamPlan {
  std::vector<storage::ReadRequest> requests;
  std::vector<SampleTask> tasks;
  // The number of first slots to be made, if there are none.
  std::uint32_t first_slots = 0;
  // Whether one more slot is to be made.
  bool grows = false;
  // The number of batches for which staging memory is to be made.
  std::uint32_t staging = 0;
  // Whether to plan again soon, for members of earlier streams.
  bool rechecks = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_PLAN_H_
