#ifndef FOREBAY_SERVER_DEVICE_COPIER_H_
#define FOREBAY_SERVER_DEVICE_COPIER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "cuda/gpu.h"
#include "server/device/staging_memory.h"
#include "server/schedule/flow.h"
#include "server/schedule/job_shares.h"

namespace forebay::device {

// A batch to be copied to a GPU.
struct Copy {
  // The jobs (flows of the fair queue) that share the copy's cost: at least
  // one, each listed once.
  std::vector<schedule::Flow> payers;
  // Among the copies of one flow, the copy with the smallest urgency comes
  // first.
  std::uint64_t urgency = 0;
  std::shared_ptr<const cuda::GpuMemory> to;
  std::shared_ptr<const StagingMemory> from;
  // Bytes to copy, from the start of `from` to the start of `to`; at least 1.
  std::uint64_t bytes = 0;
  // The copier calls `done` once, with the copy's outcome, and never within
  // Start. `done` runs on any thread. `done` may call the copier, but not
  // destroy it.
  std::function<void(const absl::Status&)> done;
};

// Totals of a copier since it was made, and the bytes that wait now.
struct CopyCounters {
  // Copies that have succeeded, and their bytes.
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
  // Bytes that started copies still have to copy.
  std::uint64_t waiting_bytes = 0;
};

// Copies batches to one GPU.
//
// Thread-safe. The caller owns the copier; destroying it calls Stop. Only Stop
// and destruction block. Start returns errors. `done` gets the errors of
// cuda::Gpu, DATA_LOSS if a copy does not end, or CANCELLED if the copier is
// stopped first.
class Copier : public schedule::JobShares {
 public:
  // Queues a copy. If Start returns an error, `done` is never called.
  // DATA_LOSS: the GPU is lost to this process. CANCELLED: the copier was
  // stopped.
  virtual absl::Status Start(Copy copy) = 0;
  // Fails waiting and future copies with CANCELLED. Waits a limited time for
  // copies in flight. Calls no `done` after it has returned.
  virtual void Stop() = 0;
  // Gives up the GPU as lost if it does not complete a part of a copy. Several
  // calls in a row must find that the GPU has worked on one part for over
  // `limit_nanos` nanoseconds. A single call is not enough, because this
  // process itself may have stood still.
  virtual void Expire(std::int64_t limit_nanos) = 0;
  // Records that the GPU is lost to this process, as another call has found.
  // Fails all copies.
  virtual void Lose(const absl::Status& why) = 0;
  // Returns why the GPU is lost to this process; OK if it is not.
  virtual absl::Status health() const = 0;
  // Returns the counts so far.
  virtual CopyCounters counters() const = 0;
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_COPIER_H_
