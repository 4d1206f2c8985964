#ifndef FOREBAY_SERVER_STREAM_READ_WINDOW_H_
#define FOREBAY_SERVER_STREAM_READ_WINDOW_H_

#include <cstdint>
#include <optional>

namespace forebay::stream {

// How many bytes a stream should have in flight to read as fast as its source
// can, or as it can make use of.
//
// The math: what is being read is the rate times what a byte takes to come
// (Little's law). The highest rate seen of late, times the shortest time seen
// of late, is what fills the way from the source; more only waits somewhere.
// The window is twice that: so it doubles as long as more in flight brings
// more, and stops when it does not. Where decoding is what takes time, reads
// are short beside it, and the window stays small. Now and then a larger window
// than the least is drawn in for a moment, to see how long reads take when
// nothing waits. (So does BBR: Cardwell et al., ACM Queue 14(5), 2016.)
//
// Only stretches count in which the window was what held reads up. What is
// needed where other things do is what was in flight of late.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe:
// the stream guards it. Never blocks; no errors.
class ReadWindow {
 public:
  // What is measured counts for one to two of these.
  static constexpr std::int64_t kPeriodNanos = 10'000'000'000;

  // Bytes; least <= most.
  ReadWindow(std::uint64_t least, std::uint64_t most);

  // The window, for which there should be memory.
  std::uint64_t wanted() const { return wanted_; }
  // What may be in flight just now.
  std::uint64_t limit() const { return probing_ ? least_ : wanted_; }
  // There is only memory for so much; more is wanted again in a while.
  void Settle(std::uint64_t bytes) { wanted_ = bytes; }

  // Nothing has been read for some time.
  void StartEpoch();
  // Before more is asked for, when `reading` bytes are on their way and
  // `arrived` have come, ever.
  void Look(std::int64_t now_nanos, std::uint64_t reading,
            std::uint64_t arrived);
  // And after. `in_flight` are those that wait to be decoded, too; `full` is
  // whether there would have been more to ask for.
  void Asked(std::int64_t now_nanos, std::uint64_t reading,
             std::uint64_t arrived, std::uint64_t in_flight, bool full);

 private:
  struct Stretch {
    std::int64_t began_nanos;
    std::uint64_t arrived;  // when it began
    double byte_nanos = 0;  // that bytes have been on their way, together
    std::int64_t at_nanos;  // its last moment so far
    std::uint64_t reading;  // then
  };
  // The extremes of a period.
  struct Period {
    double rate = 0;         // bytes a nanosecond
    double nanos = 0;        // that a byte takes; where there is a rate
    std::uint64_t peak = 0;  // bytes in flight
  };

  void Turn(std::int64_t now_nanos);
  void Update();

  const std::uint64_t least_;
  const std::uint64_t most_;
  std::uint64_t wanted_;
  bool full_ = false;  // when it was asked for more
  std::optional<Stretch> stretch_;
  Period now_;
  Period before_;
  std::optional<std::int64_t> turned_nanos_;
  bool probing_ = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_WINDOW_H_
