#ifndef FOREBAY_SERVER_STREAM_READ_WINDOW_H_
#define FOREBAY_SERVER_STREAM_READ_WINDOW_H_

#include <cstdint>
#include <optional>

namespace forebay::stream {

// Estimates how many bytes a stream should have in flight, to read as fast as
// its source can send them or as the stream can use them.
//
// The bytes in flight are the rate times the latency of a byte (Little's law).
// The bandwidth-delay product is the highest recent rate times the shortest
// recent latency; more bytes in flight would only queue somewhere. The window
// is twice that product: it grows while more bytes in flight bring a higher
// rate, and stops when they do not. If decoding is the bottleneck, reads are
// fast beside it, and the window stays small. Once a period, the window shrinks
// to its least size for a moment, to measure the latency without queues. BBR
// works alike (Cardwell et al., ACM Queue 14(5), 2016).
//
// A stretch is a time in which the window limits the reads. Rates and latencies
// are measured only in stretches. If the last two periods had none, the window
// falls to the most bytes that were in flight in them.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe:
// the stream guards it. Owns its figures. Never blocks. No errors.
class ReadWindow {
 public:
  // The length of a period. A measurement counts in its own period and the
  // next.
  static constexpr std::int64_t kPeriodNanos = 10'000'000'000;

  // Bounds of the window, in bytes; least <= most.
  ReadWindow(std::uint64_t least, std::uint64_t most);

  // Returns the window, in bytes, for which the caller reserves memory.
  std::uint64_t wanted() const { return wanted_; }
  // Returns the number of bytes that may be in flight now: less than the window
  // while the latency is measured.
  std::uint64_t limit() const { return probing_ ? least_ : wanted_; }
  // Tells that there is memory for only `bytes`. The window grows again later.
  void Settle(std::uint64_t bytes) { wanted_ = bytes; }

  // Tells that nothing has been read for some time.
  void StartEpoch();
  // Called before more is requested: `reading` bytes are being read, and
  // `arrived` bytes have arrived in all.
  void Look(std::int64_t now_nanos, std::uint64_t reading,
            std::uint64_t arrived);
  // Called after more was requested. `in_flight` also counts bytes that wait to
  // be decoded. `full` says whether the window had no room for the next sample.
  void Asked(std::int64_t now_nanos, std::uint64_t reading,
             std::uint64_t arrived, std::uint64_t in_flight, bool full);

 private:
  // A time in which the window was the limit.
  struct Stretch {
    std::int64_t began_nanos;
    // The bytes that had arrived when the stretch began.
    std::uint64_t arrived;
    // The sum of bytes times their latencies.
    double byte_nanos = 0;
    // The time at which more was last requested in the stretch.
    std::int64_t at_nanos;
    // The bytes that were being read at `at_nanos`.
    std::uint64_t reading;
  };
  // The extremes that were measured in a period.
  struct Period {
    // The highest rate, in bytes a nanosecond; 0 if none was measured.
    double rate = 0;
    // The shortest latency of a byte, in nanoseconds; meaningless if `rate` is
    // 0.
    double nanos = 0;
    // The most bytes in flight.
    std::uint64_t peak = 0;
  };

  // Begins a new period.
  void Turn(std::int64_t now_nanos);
  // Computes the window from the extremes of the last two periods.
  void Update();

  const std::uint64_t least_;
  const std::uint64_t most_;
  std::uint64_t wanted_;
  // Whether the window was the limit when more was last requested.
  bool full_ = false;
  std::optional<Stretch> stretch_;
  Period now_;
  Period before_;
  std::optional<std::int64_t> turned_nanos_;
  bool probing_ = false;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_WINDOW_H_
