#ifndef FOREBAY_SERVER_STREAM_BATCH_UPLOAD_H_
#define FOREBAY_SERVER_STREAM_BATCH_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "server/stream/batch.h"
#include "server/stream/slot_memory.h"

namespace forebay::stream {

// The end of one copy of a batch, by its number in `batch.copies`.
struct CopyEnd {
  std::size_t number = 0;
  absl::Status status;
  // Whether the GPU may still be at it: its memory stays as it is.
  bool given_up = false;
};

// Starts to copy a batch, whose samples are made, to each GPU that is attached
// and that it was not copied to yet. `done` is called for each, on another
// thread. A copy that cannot start has its status at once. Returns whether any
// was started.
//
// Called with the stream's mutex held; `done` takes it. Never blocks; no
// errors.
bool StartCopies(Batch& batch, std::uint64_t urgency, const SlotMemory& memory,
                 const std::function<void(const CopyEnd&)>& done);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_UPLOAD_H_
