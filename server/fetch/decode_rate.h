#ifndef FOREBAY_SERVER_FETCH_DECODE_RATE_H_
#define FOREBAY_SERVER_FETCH_DECODE_RATE_H_

#include <algorithm>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::fetch {

// Estimates the CPU time of decoding a sample from the number of its encoded
// bytes, by the mean of those that were decoded before. Thread-safe; never
// blocks; no errors.
class DecodeRate {
 public:
  std::int64_t NanosFor(std::uint64_t bytes) const {
    base::MutexLock lock(&mutex_);
    return static_cast<std::int64_t>(nanos_per_byte_ *
                                     static_cast<double>(AtLeast(bytes)));
  }
  void Measured(std::uint64_t bytes, std::int64_t nanos) {
    base::MutexLock lock(&mutex_);
    measured_ = std::min(measured_ + 1, kRemembered);
    nanos_per_byte_ +=
        (static_cast<double>(nanos) / static_cast<double>(AtLeast(bytes)) -
         nanos_per_byte_) /
        measured_;
  }

 private:
  // Nanoseconds a byte, about those of a JPEG.
  static constexpr double kGuess = 12;
  static constexpr int kRemembered = 16;

  // A decoder's fixed cost is about that of so many bytes.
  static std::uint64_t AtLeast(std::uint64_t bytes) {
    return std::max<std::uint64_t>(bytes, 4096);
  }

  mutable base::Mutex mutex_;
  double nanos_per_byte_ ABSL_GUARDED_BY(mutex_) = kGuess;
  int measured_ ABSL_GUARDED_BY(mutex_) = 0;  // up to kRemembered
};

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_DECODE_RATE_H_
