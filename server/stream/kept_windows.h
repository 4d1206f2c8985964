#ifndef FOREBAY_SERVER_STREAM_KEPT_WINDOWS_H_
#define FOREBAY_SERVER_STREAM_KEPT_WINDOWS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/sampler/length_window.h"

namespace forebay::stream {

// Keeps the few windows that were planned last: members stand in one or two,
// and read ahead into the next. As WindowStore says.
class KeptWindows final : public sampler::WindowStore {
 public:
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

#endif  // FOREBAY_SERVER_STREAM_KEPT_WINDOWS_H_
