#ifndef FOREBAY_SERVER_STREAM_SAMPLE_PROGRESS_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_PROGRESS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/batch_cache.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member_set.h"
#include "server/stream/prefetcher.h"
#include "server/stream/read_sample.h"
#include "server/stream/sample_tasks.h"

namespace forebay::stream {

// Books what happens to samples that were handed out: their reads end, they are
// made, lost with a worker, or finished. Each sample is finished exactly once;
// a batch lives until then.
//
// Not thread-safe: the stream guards it and its collaborators, which outlive
// it. Owns nothing but a count. Never blocks. No errors.
class SampleProgress {
 public:
  SampleProgress(MemberSet* members, InFlightBatches* in_flight,
                 Prefetcher* prefetcher, SampleTasks* tasks,
                 BatchCache* batch_cache)
      : members_(members),
        in_flight_(in_flight),
        prefetcher_(prefetcher),
        tasks_(tasks),
        batch_cache_(batch_cache) {}

  // Books the end of the sample's read. If the read succeeded, queues the
  // sample for a task, and takes the bytes from `result`.
  void EndRead(PendingSample* pending,
               absl::StatusOr<storage::ReadResult>* result);
  // Adds the CPU time of the samples that were made to their cost and to the
  // members' counters. Counts the made samples that were read in encoded form
  // in the members' samples_decoded.
  void Made(absl::Span<const ReadSample> samples, std::int64_t cpu_nanos);
  // Books that the sample is done, well or with an error. A corrupt sample may
  // be replaced by another one. Returns the sample's batch if the batch is now
  // complete; otherwise null.
  Batch* Finish(const ReadSample& sample, std::int64_t now_nanos);
  // Queues a sample that was lost with its worker.
  void MakeAgain(ReadSample sample);

  // Returns the number of samples that were read and are not finished.
  std::uint32_t samples_to_decode() const { return samples_to_decode_; }

 private:
  // Books that the sample's bytes are not needed any more.
  void DropBytes(PendingSample* pending);

  MemberSet* const members_;
  InFlightBatches* const in_flight_;
  Prefetcher* const prefetcher_;
  SampleTasks* const tasks_;
  BatchCache* const batch_cache_;
  std::uint32_t samples_to_decode_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_PROGRESS_H_
