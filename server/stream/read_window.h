#ifndef FOREBAY_SERVER_STREAM_READ_WINDOW_H_
#define FOREBAY_SERVER_STREAM_READ_WINDOW_H_

#include <cstdint>
#include <optional>

namespace forebay::stream {

// Estimates how many bytes a stream should have in flight to read as fast as
// its source can, or as fast as it can use the bytes.
//
// The bytes in flight are the rate times the latency of a byte (Little's law).
// The bandwidth-delay product is the highest recent rate times the shortest
// recent latency; more bytes in flight would only queue somewhere. The window
// is twice that product: it doubles while more in flight brings a higher rate,
// and stops when it does not. Where decoding is the bottleneck, latencies are
// short beside it, and the window stays small. Now and then the window shrinks
// to the least for a moment, to measure the latency without queues. (So does
// BBR: Cardwell et al., ACM Queue 14(5), 2016.)
//
// Only stretches of time count in which the window was the limit. Elsewhere the
// window is what was in flight of late.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe:
// the stream guards it. Never blocks; no errors.
class ReadWindow {
 public:
  // A measurement counts for one to two periods.
  static constexpr std::int64_t kPeriodNanos = 10'000'000'000;

  // Bytes; least <= most.
  ReadWindow(std::uint64_t least, std::uint64_t most);

  // The window, to be backed by memory.
  std::uint64_t wanted() const { return wanted_; }
  // The bytes that may be in flight just now.
  std::uint64_t limit() const { return probing_ ? least_ : wanted_; }
  // Says that there is only memory for so much; the window grows again later.
  void Settle(std::uint64_t bytes) { wanted_ = bytes; }

  // Says that nothing has been read for some time.
  void StartEpoch();
  // Call it before requesting more: `reading` bytes are being read, and
  // `arrived` have arrived in all.
  void Look(std::int64_t now_nanos, std::uint64_t reading,
            std::uint64_t arrived);
  // Call it after. `in_flight` includes bytes that wait to be decoded; `full`
  // says whether there was more to request.
  void Asked(std::int64_t now_nanos, std::uint64_t reading,
             std::uint64_t arrived, std::uint64_t in_flight, bool full);

 private:
  struct Stretch {
    std::int64_t began_nanos;
    std::uint64_t arrived;  // when it began
    double byte_nanos = 0;  // the sum of bytes times their latencies
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
