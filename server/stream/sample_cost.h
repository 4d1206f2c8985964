#ifndef FOREBAY_SERVER_STREAM_SAMPLE_COST_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_COST_H_

#include <algorithm>
#include <cstdint>

namespace forebay::stream {

// Measures the CPU time of a stream's samples, and how long workers take for
// them, as running means.
//
// Not thread-safe: the stream guards it. Owns its figures. Never blocks. No
// errors.
class SampleCost {
 public:
  // Returns the initial cost of samples that the daemon makes: 0.5 ms for each.
  // A task should take 4 ms, and thus counts as short.
  static SampleCost OfDecoded() { return SampleCost(500'000, 4'000'000); }
  // Returns the initial cost of samples that workers make: 8 ms for each. A
  // task should take 8 ms, so it has one sample at first.
  static SampleCost OfProduced() { return SampleCost(8'000'000, 8'000'000); }

  // Adds the CPU time of a sample. The first one replaces the guess.
  void Measured(std::int64_t cpu_nanos) {
    measured_ = std::min(measured_ + 1, kRemembered);
    cpu_nanos_ += (cpu_nanos - cpu_nanos_) / measured_;
  }
  // Adds the time that a worker took for a sample, computing or asleep.
  void Took(std::int64_t nanos) { nanos_ += (nanos - nanos_) / kRemembered; }

  // Whether any sample was measured.
  bool is_known() const { return measured_ > 0; }
  // Returns the CPU time that the next sample will probably take.
  std::int64_t cpu_nanos() const { return cpu_nanos_; }
  // Returns the time that a worker's task takes, as far as is known.
  std::int64_t task_nanos() const {
    return std::max(cpu_nanos_, nanos_) * task_samples();
  }
  // Returns how many samples one task should make at most. The task's work is
  // then long beside the cost to schedule it, and short beside what other
  // streams can wait for. The time that a worker sleeps counts too. Samples on
  // which workers sleep thus get a task each, and the workers sleep at the same
  // time.
  std::uint32_t task_samples() const {
    if (!is_known()) return 1;
    const std::int64_t each = std::max({cpu_nanos_, nanos_, std::int64_t{1}});
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(task_nanos_ / each, 1, kMaxSamples));
  }

 private:
  // The most samples of a task.
  static constexpr std::int64_t kMaxSamples = 64;
  // The number of values that a running mean remembers.
  static constexpr std::int64_t kRemembered = 16;

  // `guess_nanos` is the CPU time of a sample until one is measured;
  // `task_nanos` is the time that a task should take.
  SampleCost(std::int64_t guess_nanos, std::int64_t task_nanos)
      : task_nanos_(task_nanos), cpu_nanos_(guess_nanos) {}

  const std::int64_t task_nanos_;
  std::int64_t cpu_nanos_;
  // The number of measured samples, up to kRemembered.
  std::int64_t measured_ = 0;
  // The mean time that a worker takes for a sample, in nanoseconds.
  std::int64_t nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_COST_H_
