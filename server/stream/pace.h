#ifndef FOREBAY_SERVER_STREAM_PACE_H_
#define FOREBAY_SERVER_STREAM_PACE_H_

#include <cstdint>
#include <optional>

namespace forebay::stream {

// Measures how fast a member consumes samples, as a running mean, for
// schedulers and caches.
//
// Not thread-safe: the stream guards it. Owns its figures. Never blocks. No
// errors.
class Pace {
 public:
  void StartEpoch() { published_at_nanos_.reset(); }
  // Tells that a batch of `samples` samples was published.
  void Published(std::uint64_t samples, std::int64_t now_nanos);
  // Returns when a batch was last published in this epoch; nullopt if none was.
  std::optional<std::int64_t> published_at_nanos() const {
    return published_at_nanos_;
  }

  // Returns the nanoseconds until `samples` more samples are published;
  // INT64_MAX if unknown.
  std::int64_t TimeOf(std::uint64_t samples) const;
  // Returns the nanoseconds until the trainer, at its pace, has used `samples`
  // samples and needs the next one. Almost 0 while the pace is unknown.
  std::uint64_t Urgency(std::uint64_t samples) const;

 private:
  // The mean time between two samples; 0 while unknown.
  std::int64_t period_nanos_ = 0;
  std::optional<std::int64_t> published_at_nanos_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PACE_H_
