#ifndef FOREBAY_SERVER_STREAM_WINDOW_CACHE_H_
#define FOREBAY_SERVER_STREAM_WINDOW_CACHE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/sampler/length_window.h"

namespace forebay::stream {

// Keeps the windows of an order by length that were planned last. Members are
// in one or two windows at a time, and read ahead into the next.
//
// Thread-safe. Shares the windows. Blocks only for its own lock. No errors.
class WindowCache final : public sampler::WindowStore {
 public:
  // The number of windows that are kept.
  static constexpr std::size_t kMost = 4;

  sampler::LengthWindowPtr Find(std::uint64_t number) const override {
    base::MutexLock lock(&mutex_);
    const auto found =
        std::find_if(windows_.begin(), windows_.end(),
                     [number](const sampler::LengthWindowPtr& window) {
                       return window != nullptr && window->number == number;
                     });
    return found == windows_.end() ? nullptr : *found;
  }
  void Keep(sampler::LengthWindowPtr window) override {
    base::MutexLock lock(&mutex_);
    windows_[oldest_] = std::move(window);
    oldest_ = (oldest_ + 1) % kMost;
  }

 private:
  mutable base::Mutex mutex_;
  std::array<sampler::LengthWindowPtr, kMost> windows_ ABSL_GUARDED_BY(mutex_);
  std::size_t oldest_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_WINDOW_CACHE_H_
