#ifndef FOREBAY_SERVER_STREAM_DEPTH_H_
#define FOREBAY_SERVER_STREAM_DEPTH_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace forebay::stream {

// Decides how many batches may be in flight or ready for a trainer, by how fast
// it takes them. The batches of a slow trainer are thus not made long before it
// uses them.
//
// If the trainer finds no batch ready, the depth rises to all slots at once. If
// at least two batches stay ready while `patience_` batches are published, the
// depth falls by one. Each time that the depth rises again, `patience_`
// doubles. The depth always covers the batches that the trainer takes while one
// is made, and one batch that is ready meanwhile.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe:
// the stream guards it. Owns its figures. Never blocks. No errors.
class Depth {
 public:
  // The least depth, in batches.
  static constexpr std::uint32_t kMin = 2;

  // `most` is the number of slots.
  explicit Depth(std::uint32_t most) : most_(most), target_(most) {}

  std::uint32_t target() const { return target_; }

  // Tells that an epoch starts, with nothing ready.
  void StartEpoch();
  // Tells that `ready` batches are ready, and more are to come.
  void SawReady(std::size_t ready);
  // Tells that one more batch is ready, which took `make_nanos` to make.
  void Published(std::int64_t make_nanos, std::int64_t now_nanos);

 private:
  // Adds to the running mean of the time between two batches taken.
  void Took(std::int64_t period_nanos);
  // Returns the least depth that the trainer's pace needs.
  std::uint32_t Floor() const;

  const std::uint32_t most_;
  std::uint32_t target_;
  // The number of batches still to be published before SawReady heeds its
  // argument again.
  std::uint32_t settling_ = 0;
  // The number of batches published since fewer than two were ready.
  std::uint32_t calm_ = 0;
  // The value of calm_ at which the depth falls.
  std::uint32_t patience_ = 16;
  // The mean time in which a batch is made.
  std::int64_t make_nanos_ = 0;
  // The mean time between batches taken; 0 while unknown.
  std::int64_t period_nanos_ = 0;
  std::optional<std::int64_t> published_at_nanos_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_DEPTH_H_
