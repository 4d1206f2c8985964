#ifndef FOREBAY_SERVER_STREAM_PACE_H_
#define FOREBAY_SERVER_STREAM_PACE_H_

#include <cstdint>
#include <optional>

namespace forebay::stream {

// How fast a member's samples go, as a running mean: what schedulers and caches
// below are told. Not thread-safe: the stream guards it. Never blocks; no
// errors.
class Pace {
 public:
  void StartEpoch() { published_at_nanos_.reset(); }
  void Published(std::uint64_t samples, std::int64_t now_nanos);
  // When something was published last in this epoch, if anything was.
  std::optional<std::int64_t> published_at_nanos() const {
    return published_at_nanos_;
  }

  // Until so many more samples are published; INT64_MAX if it cannot be told.
  std::int64_t TimeOf(std::uint64_t samples) const;
  // How soon a sample that so many go before is needed: nanoseconds until the
  // trainer, at its pace, has used those. As long as the pace is not known,
  // next to nothing.
  std::uint64_t Urgency(std::uint64_t samples) const;

 private:
  std::int64_t period_nanos_ = 0;  // between samples; 0: not known
  std::optional<std::int64_t> published_at_nanos_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PACE_H_
