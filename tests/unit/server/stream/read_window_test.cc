#include "server/stream/read_window.h"

#include <algorithm>
#include <cstdint>
#include <deque>

#include "tests/catch/catch.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kLeast = std::uint64_t{16} << 20;
constexpr std::uint64_t kMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kSample = 100'000;
constexpr double kSecond = 1e9;

// A source that sends bytes at a rate, and begins each read after a latency.
// Threads decode the bytes at another rate.
struct Source {
  double latency = 0;  // nanoseconds
  double rate = 0;     // bytes per second
  double decoding = 1e12;
};

// A stream at full speed, which starts reads as Prefetcher does.
class Reader {
 public:
  explicit Reader(ReadWindow* window) : window_(window) {}

  // Reads for `seconds` seconds, with slots for at most `wanted` bytes of
  // samples. Returns the bytes per second.
  double Run(const Source& source, double seconds,
             std::uint64_t wanted = UINT64_MAX) {
    const double until = now_ + seconds * kSecond;
    const double began = now_;
    const std::uint64_t before = done_;
    Plan(source, wanted);
    while (!flights_.empty() && now_ < until) {
      now_ = flights_.front().decoded;
      flights_.pop_front();
      done_ += kSample;
      Plan(source, wanted);
    }
    return static_cast<double>(done_ - before) / (now_ - began) * kSecond;
  }
  void Idle(double seconds) { now_ += seconds * kSecond; }

 private:
  struct InFlightRead {
    double arrives;
    double decoded;
  };

  void Plan(const Source& source, std::uint64_t wanted) {
    const std::uint64_t limit = window_->limit();
    if (InFlight() > limit - limit / 4) return;
    const auto now = static_cast<std::int64_t>(now_);
    window_->Look(now, Reading(), done_ + InFlight() - Reading());
    const std::uint64_t room = std::min(window_->limit(), wanted);
    while (InFlight() + kSample <= room) {
      link_ = std::max(link_ + kSample / source.rate * kSecond,
                       now_ + source.latency);
      places_ = std::max(places_, link_) + kSample / source.decoding * kSecond;
      flights_.push_back({link_, places_});
    }
    window_->Asked(now, Reading(), done_ + InFlight() - Reading(), InFlight(),
                   room < wanted);
  }
  std::uint64_t InFlight() const { return flights_.size() * kSample; }
  std::uint64_t Reading() const {
    const auto came = std::partition_point(
        flights_.begin(), flights_.end(),
        [&](const InFlightRead& f) { return f.arrives <= now_; });
    return static_cast<std::uint64_t>(flights_.end() - came) * kSample;
  }

  ReadWindow* const window_;
  std::deque<InFlightRead> flights_;
  double now_ = 1;
  double link_ = 0;  // when the source has sent everything that was requested
  // When threads have decoded everything that was requested.
  double places_ = 0;
  std::uint64_t done_ = 0;
};

TEST_CASE("The read window lets a far source be read as fast as it can",
          "[stream][read_window]") {
  ReadWindow window(kLeast, kMax);
  Reader reader(&window);
  const Source far = {.latency = 50e6, .rate = 1e9};
  reader.Run(far, 2);
  CHECK(window.wanted() > 75e6);
  CHECK(window.wanted() < 130e6);
  CHECK(reader.Run(far, 60) > 0.97e9);
  CHECK(window.wanted() > 75e6);
  CHECK(window.wanted() < 130e6);
}

TEST_CASE("The read window takes no more where more brings nothing",
          "[stream][read_window]") {
  for (const double rate : {50e6, 500e6, 3e9}) {
    ReadWindow window(kLeast, kMax);
    Reader reader(&window);
    CHECK(reader.Run({.latency = 200e3, .rate = rate}, 60) > 0.98 * rate);
    CAPTURE(rate);
    CHECK(window.wanted() <= 2 * kLeast);
  }
}

TEST_CASE("The read window stays small where decoding takes the time",
          "[stream][read_window]") {
  ReadWindow window(kLeast, kMax);
  Reader reader(&window);
  const Source far = {.latency = 50e6, .rate = 1e9, .decoding = 100e6};
  CHECK(reader.Run(far, 60) > 99e6);
  CHECK(window.wanted() == kLeast);
}

TEST_CASE("The read window follows the source", "[stream][read_window]") {
  ReadWindow window(kLeast, kMax);
  Reader reader(&window);
  reader.Run({.latency = 50e6, .rate = 1e9}, 30);
  reader.Run({.latency = 200e6, .rate = 1e9}, 60);
  CHECK(window.wanted() > 250e6);
  reader.Run({.latency = 1e6, .rate = 1e9}, 60);
  CHECK(window.wanted() <= 2 * kLeast);
}

TEST_CASE("The read window does not want for long what is not needed",
          "[stream][read_window]") {
  ReadWindow window(kLeast, kMax);
  Reader reader(&window);
  const Source far = {.latency = 50e6, .rate = 1e9};
  reader.Run(far, 5);
  REQUIRE(window.wanted() > 75'000'000);
  reader.Run(far, 60, 40'000'000);
  UNSCOPED_INFO("it is in use");
  CHECK(window.wanted() >= 39'000'000);
  CHECK(window.wanted() <= 60'000'000);
  reader.Run(far, 60, 1'000'000);
  CHECK(window.wanted() == kLeast);
}

TEST_CASE("The read window does not take a pause for a measure",
          "[stream][read_window]") {
  ReadWindow window(kLeast, kMax);
  Reader reader(&window);
  const Source far = {.latency = 50e6, .rate = 1e9};
  for (int i = 0; i < 20; ++i) {
    reader.Run(far, 3);
    CHECK(window.wanted() > 75'000'000);
    CHECK(window.wanted() < 130'000'000);
    reader.Run(far, 600, 0);  // the slots are full
    reader.Idle(600);
    window.StartEpoch();
  }
}

TEST_CASE("The read window stays between its least and its most",
          "[stream][read_window]") {
  ReadWindow window(kLeast, 20'000'000);
  Reader reader(&window);
  reader.Run({.latency = 50e6, .rate = 1e9}, 30);
  CHECK(window.wanted() == 20'000'000);
}

TEST_CASE("The read window tries again where memory was lacking",
          "[stream][read_window]") {
  ReadWindow window(kLeast, kMax);
  Reader reader(&window);
  const Source far = {.latency = 50e6, .rate = 1e9};
  for (int i = 0; i < 10; ++i) {
    reader.Run(far, 1);
    CHECK(window.wanted() > kLeast);
    window.Settle(kLeast);
  }
}

}  // namespace
}  // namespace forebay::stream
