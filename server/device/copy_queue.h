#ifndef FOREBAY_SERVER_DEVICE_COPY_QUEUE_H_
#define FOREBAY_SERVER_DEVICE_COPY_QUEUE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "cuda/gpu.h"
#include "server/base/clock.h"
#include "server/device/copier.h"
#include "server/schedule/flow.h"

namespace forebay::device {

// Copies batches on a thread of its own, forebay-copy. Large copies of one job
// would hold up the small ones of others, so they go in pieces, which a fair
// queue interleaves.
//
// Threads, ownership, blocking and errors as Copier says; shares the GPU.
class CopyQueue final : public Copier {
 public:
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{8} << 20;

  // Stop waits so long for the copies in flight.
  static constexpr std::chrono::nanoseconds kPatience{5'000'000'000};

  // The clock outlives the thread, which Stop may leave in a call.
  CopyQueue(std::shared_ptr<cuda::Gpu> gpu, const base::Clock* clock,
            std::chrono::nanoseconds patience = kPatience);
  ~CopyQueue() override;
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  absl::Status Start(Copy copy) override;
  void Stop() override;
  void Expire(std::int64_t limit_nanos) override;
  void Lose(const absl::Status& why) override;
  absl::Status health() const override;
  CopyCounters counters() const override;
  void SetWeight(schedule::Flow flow, double weight) override;
  void Forget(schedule::Flow flow) override;

 private:
  class Work;

  // Lives as long as the thread, which a driver may never give back.
  const std::shared_ptr<Work> work_;
  const std::chrono::nanoseconds patience_;
  std::thread thread_;
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_COPY_QUEUE_H_
