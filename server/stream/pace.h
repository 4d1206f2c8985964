#ifndef FOREBAY_SERVER_STREAM_PACE_H_
#define FOREBAY_SERVER_STREAM_PACE_H_

#include <cstdint>
#include <optional>

namespace forebay::stream {

// What a stream's samples cost and how fast they go, as running means: what
// schedulers and caches below are told. Not thread-safe: the stream guards it.
// Never blocks; no errors.
class Pace {
 public:
  void SampleCost(std::int64_t cpu_nanos);
  // CPU time that the next sample will probably take.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }
  // Samples that one task should make at most, if it makes more than one: work
  // that is long beside what it costs to schedule it, and short beside what
  // other streams can wait for.
  std::uint32_t task_samples() const;

  // Samples that are published and not taken yet.
  void SetReady(std::uint64_t samples) { ready_ = samples; }
  // How soon a sample that so many go before is needed: nanoseconds until the
  // trainer, at its pace, has used those and what is ready. As long as the pace
  // is not known, next to nothing.
  std::uint64_t Urgency(std::uint64_t samples) const;

  void StartEpoch() { published_at_nanos_.reset(); }
  void Published(std::uint64_t samples, std::int64_t now_nanos);
  // Until so many more samples are published; INT64_MAX if it cannot be told.
  std::int64_t TimeOf(std::uint64_t samples) const;

 private:
  // Until one is measured, what a photograph of ImageNet's kind takes.
  std::int64_t cpu_nanos_ = 500'000;
  std::int64_t period_nanos_ = 0;  // between samples; 0: not known
  std::uint64_t ready_ = 0;
  std::optional<std::int64_t> published_at_nanos_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PACE_H_
