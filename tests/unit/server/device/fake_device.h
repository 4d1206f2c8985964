#ifndef FOREBAY_TESTS_UNIT_SERVER_DEVICE_FAKE_DEVICE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DEVICE_FAKE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "cuda/fake_gpu.h"
#include "server/base/mutex.h"
#include "server/device/copier.h"
#include "server/device/device.h"

namespace forebay::device {

// A copier whose copies are completed by the test, on the test's thread. Any
// thread may start copies.
class FakeCopier final : public Copier {
 public:
  explicit FakeCopier(std::shared_ptr<cuda::Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~FakeCopier() override { FakeCopier::Stop(); }

  // The error of the next copies. While it is OK, copies succeed.
  absl::Status failure;
  // Why no copy can start; OK if copies can.
  absl::Status refusal;

  std::size_t waiting() const {
    base::MutexLock lock(&mutex_);
    return copies_.size();
  }
  std::uint64_t started() const {
    base::MutexLock lock(&mutex_);
    return started_;
  }

  // Completes the waiting copy with this number.
  void Step(std::size_t number = 0) {
    Copy copy = Take(number);
    absl::Status status = failure;
    if (status.ok()) {
      const auto queued =
          gpu_->StartCopy(*copy.to, 0, copy.from->data(), copy.bytes);
      status = queued.ok() ? gpu_->Wait(*queued) : queued.status();
    }
    copy.done(status);
  }
  void RunAll() {
    while (waiting() > 0) Step();
  }

  absl::Status Start(Copy copy) override {
    if (!refusal.ok()) return refusal;
    base::MutexLock lock(&mutex_);
    ++started_;
    counters_.waiting_bytes += copy.bytes;
    copies_.push_back(std::move(copy));
    return absl::OkStatus();
  }
  void Stop() override {
    while (waiting() > 0) Take(0).done(absl::CancelledError("stopped"));
  }
  void Expire(std::int64_t) override {}
  void Lose(const absl::Status& why) override { refusal = why; }
  absl::Status health() const override { return refusal; }
  CopyCounters counters() const override {
    base::MutexLock lock(&mutex_);
    return counters_;
  }

 private:
  Copy Take(std::size_t number) {
    base::MutexLock lock(&mutex_);
    Copy copy = std::move(copies_[number]);
    copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(number));
    counters_.waiting_bytes -= copy.bytes;
    ++counters_.copies;
    counters_.bytes += copy.bytes;
    return copy;
  }

  const std::shared_ptr<cuda::Gpu> gpu_;
  mutable base::Mutex mutex_;
  std::deque<Copy> copies_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t started_ ABSL_GUARDED_BY(mutex_) = 0;
  CopyCounters counters_ ABSL_GUARDED_BY(mutex_);
};

// A GPU whose memory is host memory, and its copier.
struct FakeDevice {
  explicit FakeDevice(int ordinal,
                      std::uint64_t memory = std::uint64_t{1} << 30) {
    cuda::DeviceInfo info;
    info.ordinal = ordinal;
    info.uuid = absl::StrCat("gpu-", ordinal);
    gpu = std::make_shared<cuda::FakeGpu>(std::uint64_t{1} << 40);
    auto made = std::make_unique<FakeCopier>(gpu);
    copier = made.get();
    device = std::make_shared<Device>(info, gpu, std::move(made), memory);
  }

  std::shared_ptr<cuda::FakeGpu> gpu;
  FakeCopier* copier;
  std::shared_ptr<Device> device;
};

}  // namespace forebay::device

#endif  // FOREBAY_TESTS_UNIT_SERVER_DEVICE_FAKE_DEVICE_H_
