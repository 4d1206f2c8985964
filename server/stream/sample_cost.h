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
  // The first estimate for samples that producers make: one a task.
  static constexpr std::int64_t kProducedNanos = 8'000'000;
  // The other samples': what a photograph of ImageNet's kind takes.
  static constexpr std::int64_t kDecodedNanos = 500'000;

  explicit SampleCost(std::int64_t first_nanos) : cpu_nanos_(first_nanos) {}

  void Measured(std::int64_t cpu_nanos) {
    cpu_nanos_ += (cpu_nanos - cpu_nanos_) / 16;
  }
  // A producer took so long for a sample, asleep or not.
  void Took(std::int64_t nanos) { nanos_ += (nanos - nanos_) / 16; }

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
    const std::int64_t each = std::max({cpu_nanos_, nanos_, std::int64_t{1}});
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(kTaskNanos / each, 1, kMaxSamples));
  }

 private:
  static constexpr std::int64_t kTaskNanos = 8'000'000;
  static constexpr std::int64_t kMaxSamples = 64;

  std::int64_t cpu_nanos_;
  std::int64_t nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_COST_H_
