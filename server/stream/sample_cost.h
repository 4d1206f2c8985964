#ifndef FOREBAY_SERVER_STREAM_SAMPLE_COST_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_COST_H_

#include <algorithm>
#include <cstdint>

namespace forebay::stream {

// Measures the CPU time of a stream's samples, and how long producers take for
// them, as running means. Not thread-safe: the stream guards it. Never blocks;
// no errors.
class SampleCost {
 public:
  // Of samples that the daemon makes. A task of several is a short one.
  static SampleCost OfDecoded() { return SampleCost(500'000, 4'000'000); }
  // Of samples that producers make: each may take long.
  static SampleCost OfProduced() { return SampleCost(8'000'000, 8'000'000); }

  // Notes the CPU time of a sample. The first one replaces the guess.
  void Measured(std::int64_t cpu_nanos) {
    measured_ = std::min(measured_ + 1, kRemembered);
    cpu_nanos_ += (cpu_nanos - cpu_nanos_) / measured_;
  }
  // A producer took so long for a sample, computing or asleep.
  void Took(std::int64_t nanos) { nanos_ += (nanos - nanos_) / kRemembered; }

  // Whether any sample was measured.
  bool is_known() const { return measured_ > 0; }
  // CPU time that the next sample will probably take.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }
  // The time that a producer's task takes, as far as is known.
  std::int64_t task_nanos() const {
    return std::max(cpu_nanos_, nanos_) * task_samples();
  }
  // Samples that one task should make at most, if it makes more than one: work
  // that is long beside what it costs to schedule it, and short beside what
  // other streams can wait for. Those that sleep do so side by side.
  std::uint32_t task_samples() const {
    if (!is_known()) return 1;
    const std::int64_t each = std::max({cpu_nanos_, nanos_, std::int64_t{1}});
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(task_nanos_ / each, 1, kMaxSamples));
  }

 private:
  static constexpr std::int64_t kMaxSamples = 64;
  static constexpr std::int64_t kRemembered = 16;

  // `guess_nanos` of a sample, until one is measured; `task_nanos` of a task.
  SampleCost(std::int64_t guess_nanos, std::int64_t task_nanos)
      : task_nanos_(task_nanos), cpu_nanos_(guess_nanos) {}

  const std::int64_t task_nanos_;
  std::int64_t cpu_nanos_;
  std::int64_t measured_ = 0;  // samples, up to what the mean remembers
  std::int64_t nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_COST_H_
