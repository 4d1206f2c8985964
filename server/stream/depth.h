#ifndef FOREBAY_SERVER_STREAM_DEPTH_H_
#define FOREBAY_SERVER_STREAM_DEPTH_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace forebay::stream {

// Decides how many batches are in flight or ready for a trainer, by its
// consumption, so that nothing is read and decoded long before a slow trainer
// uses it.
//
// A trainer that finds nothing ready gets all slots at once. After it has
// always found two batches ready for some time, the depth falls by one. Each
// time that this proves wrong, that time doubles. The depth always covers the
// batches that the trainer takes while one is made, and one that is ready
// meanwhile.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe:
// the stream guards it. Never blocks; no errors.
class Depth {
 public:
  static constexpr std::uint32_t kMin = 2;

  // `most` is the number of slots.
  explicit Depth(std::uint32_t most) : most_(most), target_(most) {}

  std::uint32_t target() const { return target_; }

  // Says that an epoch starts, with nothing ready.
  void StartEpoch();
  // Says that so many batches are ready, and more are to come.
  void SawReady(std::size_t ready);
  // Says that one more is ready, which took so long to make.
  void Published(std::int64_t made_nanos, std::int64_t now_nanos);

 private:
  void Took(std::int64_t period_nanos);
  // The depth that the pace needs.
  std::uint32_t Floor() const;

  const std::uint32_t most_;
  std::uint32_t target_;
  std::uint32_t settling_ = 0;   // batches until the ready ones count
  std::uint32_t calm_ = 0;       // batches since fewer than two were ready
  std::uint32_t patience_ = 16;  // batches until the depth falls
  std::int64_t made_nanos_ = 0;
  std::int64_t period_nanos_ = 0;  // between batches taken; 0 while unknown
  std::optional<std::int64_t> published_at_nanos_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_DEPTH_H_
