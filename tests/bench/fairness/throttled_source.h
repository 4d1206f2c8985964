#ifndef FOREBAY_TESTS_BENCH_FAIRNESS_THROTTLED_SOURCE_H_
#define FOREBAY_TESTS_BENCH_FAIRNESS_THROTTLED_SOURCE_H_

#include <cstdint>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/alarm.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/schedule/token_bucket.h"
#include "server/storage/byte_source.h"

namespace forebay::bench {

// A source that passes reads on to `inner` in the order in which they come, at
// a limited number of bytes per second. Thread-safe. `inner` must outlive this
// object, and all reads must be done before this object is destroyed. Does not
// block.
class ThrottledSource final : public storage::ByteSource {
 public:
  ThrottledSource(storage::ByteSource* inner, double bytes_per_second)
      : inner_(inner),
        bucket_(bytes_per_second, bytes_per_second * kBurstSeconds, Now()),
        alarm_("throttle", [this] { Pass(); }) {}

  void Read(absl::Span<storage::ReadRequest> requests) override {
    {
      base::MutexLock lock(&mutex_);
      for (storage::ReadRequest& request : requests)
        waiting_.push_back(std::move(request));
    }
    alarm_.SetFor(Now());
  }

 private:
  static constexpr double kBurstSeconds = 0.02;

  static std::int64_t Now() { return base::Clock::Monotonic()->NowNanos(); }

  // Passes reads on. Only the alarm's thread runs it.
  void Pass() {
    for (;;) {
      storage::ReadRequest next;
      {
        base::MutexLock lock(&mutex_);
        if (waiting_.empty()) return;
        const auto bytes = static_cast<double>(waiting_.front().length);
        if (!bucket_.TryTake(bytes, Now())) {
          alarm_.SetFor(bucket_.ReadyAt(bytes, Now()));
          return;
        }
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      inner_->Read({&next, 1});
    }
  }

  storage::ByteSource* const inner_;
  base::Mutex mutex_;
  std::deque<storage::ReadRequest> waiting_ ABSL_GUARDED_BY(mutex_);
  schedule::TokenBucket bucket_ ABSL_GUARDED_BY(mutex_);
  base::Alarm alarm_;
};

}  // namespace forebay::bench

#endif  // FOREBAY_TESTS_BENCH_FAIRNESS_THROTTLED_SOURCE_H_
