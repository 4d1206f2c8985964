#ifndef FOREBAY_SERVER_STREAM_DEPTH_H_
#define FOREBAY_SERVER_STREAM_DEPTH_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace forebay::stream {

// How many batches are to be in the making or ready: what the trainer's
// consumption wants, so that for a slow one nothing is read and decoded long
// before it is used.
//
// A trainer that finds nothing ready has all slots at once. One that has found
// two batches ready at any time, for a good while, does with one less; each
// time that this proves wrong, the while is longer. It is never less than what
// bridges the time that a batch takes to be made at the pace at which they are
// taken, and one that is ready meanwhile.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe:
// the stream guards it. Never blocks; no errors.
class Depth {
 public:
  static constexpr std::uint32_t kLeast = 2;

  // `most` are the slots.
  explicit Depth(std::uint32_t most) : most_(most), target_(most) {}

  std::uint32_t target() const { return target_; }

  // Nothing is ready, and it cannot be otherwise.
  void StartEpoch();
  // So many are there to be taken, and more are to come.
  void SawReady(std::size_t ready);
  // One more is, which took so long to be made.
  void Published(std::int64_t made_nanos, std::int64_t now_nanos);

 private:
  void Took(std::int64_t period_nanos);
  // What the pace wants.
  std::uint32_t Floor() const;

  const std::uint32_t most_;
  std::uint32_t target_;
  std::uint32_t settling_ = 0;   // batches until what is ready says something
  std::uint32_t calm_ = 0;       // batches since fewer than two were ready
  std::uint32_t patience_ = 16;  // and after how many one less will do
  std::int64_t made_nanos_ = 0;
  std::int64_t period_nanos_ = 0;  // of taking them; 0: not known
  std::optional<std::int64_t> published_at_nanos_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_DEPTH_H_
