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

// Copies batches to a GPU on a thread of its own, forebay-copy. A large copy of
// one job would hold up small copies of other jobs. Copies are therefore cut
// into pieces, which a fair queue interleaves. Shares the ownership of the GPU.
// Threads, blocking and errors are as Copier says.
class CopyQueue final : public Copier {
 public:
  // The most bytes of a piece.
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{8} << 20;

  // How long Stop waits for copies in flight.
  static constexpr std::chrono::nanoseconds kPatience{5'000'000'000};

  // Starts the thread. `clock` must outlive the thread, which may outlive this
  // object: Stop leaves a thread that hangs in a driver call. `patience` is how
  // long Stop waits.
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

  // The queue's state, which the thread shares: a driver may never return from
  // a call, so the thread may outlive this object.
  const std::shared_ptr<Work> work_;
  const std::chrono::nanoseconds patience_;
  std::thread thread_;
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_COPY_QUEUE_H_
