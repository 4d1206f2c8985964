#ifndef FOREBAY_SERVER_STREAM_PACE_H_
#define FOREBAY_SERVER_STREAM_PACE_H_

#include <cstdint>
#include <optional>

namespace forebay::stream {

// Measures how fast a member consumes samples, as a running mean, for the
// schedulers and caches below. Not thread-safe: the stream guards it. Never
// blocks; no errors.
class Pace {
 public:
  void StartEpoch() { published_at_nanos_.reset(); }
  void Published(std::uint64_t samples, std::int64_t now_nanos);
  // When a batch was last published in this epoch; nullopt if none was.
  std::optional<std::int64_t> published_at_nanos() const {
    return published_at_nanos_;
  }

  // The time until so many more samples are published; INT64_MAX if unknown.
  std::int64_t TimeOf(std::uint64_t samples) const;
  // The nanoseconds until the trainer, at its pace, has used so many samples
  // and needs the next one. Next to nothing while the pace is unknown.
  std::uint64_t Urgency(std::uint64_t samples) const;

 private:
  std::int64_t period_nanos_ = 0;  // between samples; 0 while unknown
  std::optional<std::int64_t> published_at_nanos_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PACE_H_
