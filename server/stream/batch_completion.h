#ifndef FOREBAY_SERVER_STREAM_BATCH_COMPLETION_H_
#define FOREBAY_SERVER_STREAM_BATCH_COMPLETION_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "server/stream/batch.h"
#include "server/stream/batch_cache.h"
#include "server/stream/batch_layout.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member_set.h"

namespace forebay::stream {

// The end of one copy of a batch, by its number in `batch.copies`.
struct CopyEnd {
  std::size_t number = 0;
  absl::Status status;
  // Whether the GPU may still be at it: its memory stays as it is.
  bool given_up = false;
};

// Takes a batch whose samples are done to the batch cache: completes its slot,
// and copies it to each GPU that is attached. A copy that cannot start has its
// status at once. A batch that no GPU has got fails.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Never blocks; no errors but the batch's.
class BatchCompletion {
 public:
  // Is called for each copy that ends, on another thread; then it calls
  // EndCopy.
  using Copied = std::function<void(const CopyEnd&)>;

  BatchCompletion(const BatchLayout* layout, const MemberSet* members,
                  BatchCache* batch_cache, InFlightBatches* in_flight)
      : layout_(layout),
        members_(members),
        batch_cache_(batch_cache),
        in_flight_(in_flight) {}

  // Begins with a batch whose samples are done, well or not.
  void Complete(Batch& batch, const Copied& copied, std::int64_t now_nanos);
  // Takes note of a copy's end; goes on if it was the last.
  void EndCopy(Batch& batch, const CopyEnd& copy, const Copied& copied,
               std::int64_t now_nanos);

 private:
  void CopyOrStore(Batch& batch, const Copied& copied, std::int64_t now_nanos);
  // Starts the copies to GPUs that the batch was not copied to yet. Returns
  // whether there are any.
  bool StartCopies(Batch& batch, const Copied& copied) const;
  void Store(Batch& batch, std::int64_t now_nanos);

  const BatchLayout* const layout_;
  const MemberSet* const members_;
  BatchCache* const batch_cache_;
  InFlightBatches* const in_flight_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_COMPLETION_H_
