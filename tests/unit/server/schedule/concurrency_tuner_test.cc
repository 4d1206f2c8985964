// Tests of the tuner on simulated links: which rate it reaches, and when.

#include "server/schedule/concurrency_tuner.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/catch/suite.h"

namespace forebay::schedule {
namespace {

constexpr double kTick = 0.02;  // seconds
constexpr std::int64_t kTickNanos = 20'000'000;
constexpr int kAnswers = 20;  // answers each tick

// Bytes a second, as a function of the number of concurrent requests.
using Curve = std::function<double(int)>;

// Returns the curve of requests that each take `latency` seconds, and then the
// time of their bytes on their own connection. All connections together carry
// at most `capacity` bytes per second.
Curve LatencyBound(double latency, double bytes, double connection,
                   double capacity) {
  return [=](int requests) {
    return std::min(capacity,
                    requests * bytes / (latency + bytes / connection));
  };
}

// A link whose rate is what a curve gives for the limit of `latency` seconds
// ago. Noise multiplies the rate of each tick by a factor, normally distributed
// around 1.
class Link {
 public:
  Link(Curve curve, double latency, double noise, unsigned seed)
      : curve_(std::move(curve)),
        latency_(latency),
        noise_(noise),
        random_(seed) {}

  // Lets the tuner control the link for some time. Returns the bytes delivered
  // per second.
  double Run(ConcurrencyTuner* tuner, double seconds) {
    const std::uint64_t before = sample_.delivered;
    for (double at = 0; at < seconds; at += kTick) {
      limits_.push_back(tuner->allowed());
      if (static_cast<double>(limits_.size()) * kTick > latency_ + kTick)
        limits_.pop_front();
      const double factor =
          std::max(0.0, 1 + noise_ * std::normal_distribution()(random_));
      sample_.now_nanos += kTickNanos;
      sample_.delivered +=
          static_cast<std::uint64_t>(curve_(limits_.front()) * factor * kTick);
      for (int i = 0; i < kAnswers; ++i) tuner->OnAnswer();
      sample_.answers += kAnswers;
      if (capacity_ > 0 && limits_.front() > capacity_) sample_.busy += 5;
      sample_.in_flight = tuner->allowed();
      sample_.starved = starved_;
      sample_.latency_nanos = static_cast<std::int64_t>(latency_ * 1e9);
      tuner->OnSample(sample_);
      highest_ = std::max(highest_, tuner->limit());
    }
    return static_cast<double>(sample_.delivered - before) / seconds;
  }

  double Best() const {
    double best = 0;
    for (int limit = 1; limit <= 256; ++limit)
      best = std::max(best, curve_(limit));
    return best;
  }

  void SetCurve(Curve curve) { curve_ = std::move(curve); }
  void SetStarved(bool starved) { starved_ = starved; }
  // While more than `requests` requests are allowed, a quarter of the answers
  // are refusals.
  void RefuseFrom(int requests) { capacity_ = requests; }
  int highest() const { return highest_; }

 private:
  Curve curve_;
  const double latency_;
  const double noise_;
  std::mt19937 random_;
  std::deque<int> limits_;
  ConcurrencySample sample_;
  bool starved_ = false;
  int capacity_ = 0;
  int highest_ = 0;
};

class TunerTest {
 public:
  using Subject = unsigned;

  explicit TunerTest(Subject seed) : seed_(seed) {}

 protected:
  // Expects that after 10 s the tuner gets 90% of the link's best rate, and
  // then keeps it.
  void ExpectFound(Curve curve, double latency, double noise) {
    Link link(std::move(curve), latency, noise, seed_);
    ConcurrencyTuner tuner;
    link.Run(&tuner, 10);
    CHECK(link.Run(&tuner, 10) >= 0.9 * link.Best());
    CHECK(link.Run(&tuner, 60) >= 0.9 * link.Best());
    CHECK(link.highest() <= 256);
  }

  const unsigned seed_;
};

SUITE_CASE(TunerTest, "The concurrency tuner fills a latency-bound link",
           "[schedule][concurrency_tuner]") {
  for (const double capacity : {30e6, 120e6, 400e6, 800e6})
    ExpectFound(LatencyBound(0.03, 100e3, 200e6, capacity), 0.03, 0.05);
}

SUITE_CASE(
    TunerTest,
    "A link that more requests always fill faster gets the most requests",
    "[schedule][concurrency_tuner]") {
  ExpectFound(LatencyBound(0.03, 100e3, 200e6, 1e12), 0.03, 0.05);
}

SUITE_CASE(TunerTest, "The concurrency tuner takes no longer for far servers",
           "[schedule][concurrency_tuner]") {
  ExpectFound(LatencyBound(0.2, 1e6, 50e6, 300e6), 0.2, 0.05);
}

SUITE_CASE(TunerTest, "Noise does no harm to the concurrency tuner",
           "[schedule][concurrency_tuner]") {
  for (const double noise : {0.1, 0.3})
    ExpectFound(LatencyBound(0.03, 100e3, 200e6, 150e6), 0.03, noise);
}

SUITE_CASE(
    TunerTest,
    "A disturbance while the limit doubles is not taken for the link's end",
    "[schedule][concurrency_tuner]") {
  const Curve curve = LatencyBound(0.06, 100e3, 200e6, 190e6);
  for (const int disturbed : {32, 64, 128}) {
    Link link(curve, 0.06, 0.05, seed_);
    ConcurrencyTuner tuner;
    while (tuner.allowed() < disturbed) link.Run(&tuner, kTick);
    // The tuner lets the link settle for 0.12 s, and measures for 0.3 s.
    link.SetCurve([&curve](int requests) { return 0.5 * curve(requests); });
    link.Run(&tuner, 0.44);
    link.SetCurve(curve);
    link.Run(&tuner, 3);
    CAPTURE(disturbed);
    CHECK(link.Run(&tuner, 2) >= 0.9 * link.Best());
  }
}

SUITE_CASE(TunerTest,
           "The concurrency tuner spares a server that slows down under load",
           "[schedule][concurrency_tuner]") {
  const auto curve = [](int requests) {
    return 1e6 *
           (requests <= 24 ? requests : 24 * std::pow(24.0 / requests, 0.7));
  };
  ExpectFound(curve, 0.03, 0.03);
}

SUITE_CASE(TunerTest,
           "The concurrency tuner uses a link well that saturates gradually",
           "[schedule][concurrency_tuner]") {
  ExpectFound([](int requests) { return 200e6 * requests / (requests + 8.0); },
              0.03, 0.02);
}

SUITE_CASE(TunerTest, "A full link gets no more requests than it needs",
           "[schedule][concurrency_tuner]") {
  // 40 requests fill the link.
  Link link([](int requests) { return 1e6 * std::min(requests, 40); }, 0.03,
            0.02, seed_);
  ConcurrencyTuner tuner;
  link.Run(&tuner, 60);
  CHECK(tuner.limit() <= 100);
}

SUITE_CASE(TunerTest,
           "The concurrency tuner finds the limit of another link too",
           "[schedule][concurrency_tuner]") {
  Link link(LatencyBound(0.03, 100e3, 200e6, 50e6), 0.03, 0.05, seed_);
  ConcurrencyTuner tuner;
  link.Run(&tuner, 60);
  for (const double capacity : {300e6, 60e6}) {
    link.SetCurve(LatencyBound(0.03, 100e3, 200e6, capacity));
    link.Run(&tuner, 20);
    CHECK(link.Run(&tuner, 10) >= 0.9 * link.Best());
  }
}

SUITE_CASE(TunerTest, "Refusals make the concurrency tuner send fewer requests",
           "[schedule][concurrency_tuner]") {
  Link link([](int requests) { return 1e6 * std::min(requests, 60); }, 0.03,
            0.02, seed_);
  link.RefuseFrom(50);
  ConcurrencyTuner tuner;
  link.Run(&tuner, 10);
  CHECK(tuner.limit() <= 63);
  CHECK(link.Run(&tuner, 60) >= 0.6 * 50e6);
  link.RefuseFrom(1);  // refuses beyond one request
  link.Run(&tuner, 10);
  CHECK(tuner.limit() == ConcurrencyTunerOptions().min);
}

SUITE_CASE(TunerTest,
           "A few refusals are not a reason to change a concurrency limit",
           "[schedule][concurrency_tuner]") {
  ConcurrencyTuner tuner({8, 8, 8});
  ConcurrencySample sample;
  for (int i = 0; i < 1000; ++i) {
    sample.now_nanos += kTickNanos;
    sample.answers += 200;
    sample.busy += 2;
    sample.in_flight = 8;
    tuner.OnSample(sample);
    CHECK(tuner.limit() == 8);
  }
}

SUITE_CASE(TunerTest,
           "The concurrency tuner does not judge a link that nobody uses",
           "[schedule][concurrency_tuner]") {
  Link link(LatencyBound(0.03, 100e3, 200e6, 150e6), 0.03, 0.05, seed_);
  ConcurrencyTuner tuner;
  link.SetStarved(true);
  link.Run(&tuner, 10);
  CHECK(tuner.limit() == ConcurrencyTunerOptions().initial);
  link.SetStarved(false);
  link.Run(&tuner, 10);
  CHECK(link.Run(&tuner, 10) >= 0.9 * link.Best());
}

SUITE_CASE(TunerTest,
           "A concurrency limit is approached by one at every other answer",
           "[schedule][concurrency_tuner]") {
  Link link(LatencyBound(0.03, 100e3, 200e6, 150e6), 0.03, 0.05, seed_);
  ConcurrencyTuner tuner;
  int before = tuner.allowed();
  for (int i = 0; i < 1000; ++i) {
    link.Run(&tuner, kTick);
    const int limit = tuner.limit();
    CHECK(std::abs(tuner.allowed() - before) <= kAnswers / 2);
    before = tuner.allowed();
    tuner.OnAnswer();
    tuner.OnAnswer();
    CHECK(tuner.limit() == limit);
    CHECK(tuner.allowed() == before + (limit > before) - (limit < before));
    before = tuner.allowed();
  }
}

// A resource whose number of answers the test sets.
class CountedAnswers {
 public:
  void Run(ConcurrencyTuner* tuner, double seconds, int answers_a_tick) {
    for (double at = 0; at < seconds; at += kTick) {
      for (int i = 0; i < answers_a_tick; ++i) tuner->OnAnswer();
      sample.now_nanos += kTickNanos;
      sample.delivered += 1'000'000 * tuner->allowed();
      sample.in_flight = tuner->allowed();
      tuner->OnSample(sample);
    }
  }
  ConcurrencySample sample;
};

// No request ends, either because all are long or because there are none.
SUITE_CASE(TunerTest, "A concurrency limit is measured once it is reached",
           "[schedule][concurrency_tuner]") {
  ConcurrencyTuner tuner;
  CountedAnswers link;
  link.Run(&tuner, 0.6, 0);
  CHECK(tuner.limit() == 32);
  CHECK(tuner.allowed() == 16);
  link.Run(&tuner, 2.5, 0);
  CHECK(tuner.limit() == 32);
  link.Run(&tuner, 0.5, 0);  // no answer came in 3 s
  CHECK(tuner.limit() == 32);
  CHECK(tuner.allowed() == 32);
  link.Run(&tuner, 0.5, 0);
  CHECK(tuner.limit() == 64);
}

SUITE_CASE(TunerTest, "Refusals count while a concurrency limit is approached",
           "[schedule][concurrency_tuner]") {
  ConcurrencyTuner tuner;
  CountedAnswers link;
  while (tuner.limit() < 128) link.Run(&tuner, kTick, 4);
  link.Run(&tuner, 0.1, 4);
  const int before = tuner.allowed();
  CHECK(before < 100);
  link.sample.answers += 50;
  link.sample.busy += 10;
  link.Run(&tuner, kTick, 0);
  // The cut is in proportion to the requests that were allowed, not to the
  // limit that the tuner approached.
  CHECK(tuner.limit() <= 0.7 * before);
  CHECK(tuner.allowed() == tuner.limit());
}

SUITE_CASE(TunerTest, "A concurrency limit stays within its bounds",
           "[schedule][concurrency_tuner]") {
  Link link([](int) { return 1e6; }, 0.03, 0.5, seed_);
  for (const ConcurrencyTunerOptions& options :
       {ConcurrencyTunerOptions{1, 1, 1}, ConcurrencyTunerOptions{3, 5, 7}}) {
    ConcurrencyTuner tuner(options);
    for (int i = 0; i < 3000; ++i) {
      link.Run(&tuner, kTick);
      CHECK(tuner.limit() >= options.min);
      CHECK(tuner.limit() <= options.max);
    }
  }
}

const tests::RunsOn<TunerTest> kSeeds(tests::Seeds(20));

}  // namespace
}  // namespace forebay::schedule
