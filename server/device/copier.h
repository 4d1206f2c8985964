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
  std::vector<schedule::Flow> payers;  // at least one, none twice
  std::uint64_t urgency = 0;           // smaller is sooner, among one flow's
  std::shared_ptr<const cuda::GpuMemory> to;
  std::shared_ptr<const StagingMemory> from;
  std::uint64_t bytes = 0;  // from the start of both; at least 1
  // Called once, with how it ended, on any thread but that of
  // Start. May call anything of the copier's but its destructor.
  std::function<void(const absl::Status&)> done;
};

struct CopyCounters {
  std::uint64_t copies = 0;  // that are done
  std::uint64_t bytes = 0;
  std::uint64_t waiting_bytes = 0;  // of copies that are not
};

// Copies batches to one GPU.
//
// Thread-safe. The caller owns it; destruction stops it. Only Stop blocks.
// Errors: Start's, and those that `done` is called with: cuda::Gpu's, DATA_LOSS
// once a copy does not end, CANCELLED if the copier is stopped first.
class Copier : public schedule::JobShares {
 public:
  // Queues a copy. DATA_LOSS: the GPU is lost to this process. CANCELLED: the
  // copier was stopped. Nothing is called then.
  virtual absl::Status Start(Copy copy) = 0;
  // Fails the copies that wait and all that come, with CANCELLED. Waits for
  // those in flight, but not for long. Nothing is called after it.
  virtual void Stop() = 0;
  // Gives the GPU up if it has worked at a part of one copy for so long, as
  // several calls in a row have found: this process itself may have stood
  // still.
  virtual void Expire(std::int64_t limit_nanos) = 0;
  // Says that the GPU is lost to this process, as another call has found.
  virtual void Lose(const absl::Status& why) = 0;
  // Why the GPU is lost to this process; OK if it is not.
  virtual absl::Status health() const = 0;
  virtual CopyCounters counters() const = 0;
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_COPIER_H_
