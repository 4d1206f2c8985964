#ifndef FOREBAY_TESTS_UNIT_SERVER_WORKER_FAKE_PROCESS_H_
#define FOREBAY_TESTS_UNIT_SERVER_WORKER_FAKE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/worker/worker_process.h"

namespace forebay::worker {

// The state of a fake process, which the test sets. Thread-safe.
struct FakeState {
  base::Mutex mutex;
  base::CondVar killed_changed;
  std::uint64_t shared = 0;  // anonymous memory shared with its parent
  std::uint64_t own = 0;
  bool killed = false;
  bool gone = false;
  int measured = 0;

  void Set(std::uint64_t own_bytes) {
    base::MutexLock lock(&mutex);
    own = own_bytes;
  }
  // Copies `bytes` bytes of the parent's pages, as when the process writes to
  // them.
  void CopyOnWrite(std::uint64_t bytes) {
    base::MutexLock lock(&mutex);
    shared -= bytes;
    own += bytes;
  }
  void Leave() {
    base::MutexLock lock(&mutex);
    gone = true;
  }
  bool is_killed() {
    base::MutexLock lock(&mutex);
    return killed;
  }
  void AwaitKill() {
    base::MutexLock lock(&mutex);
    while (!killed) killed_changed.Wait(&mutex);
  }
};

class FakeProcess final : public Process {
 public:
  // Makes a process whose memory takes `measuring_nanos` nanoseconds of `clock`
  // to measure. If `clock` is null, measuring takes no time.
  explicit FakeProcess(std::shared_ptr<FakeState> state,
                       base::FakeClock* clock = nullptr,
                       std::int64_t measuring_nanos = 0)
      : state_(std::move(state)),
        clock_(clock),
        measuring_nanos_(measuring_nanos) {}

  pid_t pid() const override { return 17; }
  int fd() const override { return -1; }
  bool IsStopped() const override { return false; }
  std::optional<std::int64_t> RunQueueNanos() const override {
    return std::nullopt;
  }
  std::optional<std::uint64_t> AnonymousBytes() override {
    base::MutexLock lock(&state_->mutex);
    if (state_->gone) return std::nullopt;
    return state_->shared + state_->own;
  }
  std::optional<std::uint64_t> PrivateBytes() override {
    base::MutexLock lock(&state_->mutex);
    ++state_->measured;
    if (clock_ != nullptr) clock_->Advance(measuring_nanos_);
    return state_->own;
  }
  bool Kill() override {
    base::MutexLock lock(&state_->mutex);
    state_->killed = true;
    state_->killed_changed.NotifyAll();
    return true;
  }

 private:
  const std::shared_ptr<FakeState> state_;
  base::FakeClock* const clock_;
  const std::int64_t measuring_nanos_;
};

}  // namespace forebay::worker

#endif  // FOREBAY_TESTS_UNIT_SERVER_WORKER_FAKE_PROCESS_H_
