#ifndef FOREBAY_SERVER_FETCH_DECODE_RATE_H_
#define FOREBAY_SERVER_FETCH_DECODE_RATE_H_

#include <algorithm>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::fetch {

// Estimates the CPU time of decoding a sample from the number of its encoded
// bytes, by a running mean over samples decoded before. Thread-safe; owns its
// state; never blocks; has no errors.
class DecodeRate {
 public:
  // Returns the nanoseconds that decoding `bytes` bytes is expected to take.
  std::int64_t NanosFor(std::uint64_t bytes) const {
    base::MutexLock lock(&mutex_);
    return static_cast<std::int64_t>(nanos_per_byte_ *
                                     static_cast<double>(AtLeast(bytes)));
  }
  // Adds a sample of `bytes` bytes whose decoding took `nanos`.
  void Measured(std::uint64_t bytes, std::int64_t nanos) {
    base::MutexLock lock(&mutex_);
    measured_ = std::min(measured_ + 1, kRemembered);
    // The mean of all samples, until there are kRemembered; then an exponential
    // mean.
    nanos_per_byte_ +=
        (static_cast<double>(nanos) / static_cast<double>(AtLeast(bytes)) -
         nanos_per_byte_) /
        measured_;
  }

 private:
  // The nanoseconds for each byte that are assumed before a sample is measured.
  // A JPEG takes about as long.
  static constexpr double kGuess = 12;
  // Each new sample has a weight of at least 1/kRemembered, so that the mean
  // follows changes.
  static constexpr int kRemembered = 16;

  // Decoding has a fixed cost: about the cost of decoding 4096 bytes.
  static std::uint64_t AtLeast(std::uint64_t bytes) {
    return std::max<std::uint64_t>(bytes, 4096);
  }

  mutable base::Mutex mutex_;
  double nanos_per_byte_ ABSL_GUARDED_BY(mutex_) = kGuess;
  // Number of samples measured, at most kRemembered.
  int measured_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_DECODE_RATE_H_
