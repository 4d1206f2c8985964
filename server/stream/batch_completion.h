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

// The end of one copy of a batch to a GPU.
struct CopyEnd {
  // The index of the copy in `batch.copies`.
  std::size_t number = 0;
  absl::Status status;
  // Whether the copy was given up, and the GPU may still read the staging
  // memory.
  bool given_up = false;
};

// Brings a batch whose samples are done into the batch cache: writes its
// header, copies it to each attached GPU, and stores it. A copy that cannot
// start fails at once. If all copies fail, the batch fails.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Owns nothing. Never blocks. Errors become the batch's status.
class BatchCompletion {
 public:
  // Called on another thread for each copy that ends. The stream then calls
  // EndCopy.
  using Copied = std::function<void(const CopyEnd&)>;

  BatchCompletion(const BatchLayout* layout, const MemberSet* members,
                  BatchCache* batch_cache, InFlightBatches* in_flight)
      : layout_(layout),
        members_(members),
        batch_cache_(batch_cache),
        in_flight_(in_flight) {}

  // Starts the completion of a batch whose samples are all finished, with or
  // without errors.
  void Complete(Batch& batch, const Copied& copied, std::int64_t now_nanos);
  // Books the end of a copy. After the last copy, starts copies to GPUs that
  // were attached meanwhile. If there are none, stores the batch.
  void EndCopy(Batch& batch, const CopyEnd& copy, const Copied& copied,
               std::int64_t now_nanos);

 private:
  // Starts the copies that are missing. If none was started, stores the batch.
  void CopyOrStore(Batch& batch, const Copied& copied, std::int64_t now_nanos);
  // Starts the copies to GPUs that the batch was not copied to yet. Returns
  // whether any copy was started.
  bool StartCopies(Batch& batch, const Copied& copied) const;
  // Moves the batch from the batches in flight to the batch cache.
  void Store(Batch& batch, std::int64_t now_nanos);

  const BatchLayout* const layout_;
  const MemberSet* const members_;
  BatchCache* const batch_cache_;
  InFlightBatches* const in_flight_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_COMPLETION_H_
