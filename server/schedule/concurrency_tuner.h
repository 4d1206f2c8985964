#ifndef FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_
#define FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_

#include <cstddef>
#include <cstdint>

namespace forebay::schedule {

// The smallest, the initial and the largest number of requests that the tuner
// allows in flight at once. 0 < min <= initial <= max.
struct ConcurrencyTunerOptions {
  int min = 4;
  int initial = 16;
  int max = 256;
};

// The state of a resource at one moment. The counters are 0 when the resource
// is created, and never decrease.
struct ConcurrencySample {
  std::int64_t now_nanos = 0;
  // Bytes that arrived.
  std::uint64_t delivered = 0;
  // Requests that ended without being cancelled.
  std::uint64_t answers = 0;
  // Answers that ask for fewer requests, such as HTTP 503.
  std::uint64_t busy = 0;
  // Requests in flight now.
  std::size_t in_flight = 0;
  // Whether, at some moment since the last sample, fewer requests were wanted
  // than are allowed. The rate at such a moment says nothing about the limit.
  bool starved = false;
  // The usual time to an answer's first byte; 0 if unknown.
  std::int64_t latency_nanos = 0;
};

// Finds by trials how many simultaneous requests get the most out of a
// resource.
//
// The utility of a limit is rate / limit^a with a small a. Twice as many
// requests must bring at least 4 % more bytes a second. The tuner thus fills a
// link on which more requests bring more bytes, and does not overload a link
// that is full.
//
// 1. Ramp. The limit doubles until two measurements in a row say that doubling
// does not pay. One measurement is not enough: something may have disturbed it,
// and the trials that follow change the limit much less.
// 2. Trials. Now and then the tuner tries a limit a quarter higher or lower,
// between two measurements of the current limit. The tuner adopts the tried
// limit if its utility is higher. If neither direction is better, trials become
// rarer.
// 3. Refusals. While many answers are refusals, the limit shrinks at once, and
// trials wait.
//
// Where nothing was refused, every second answer moves allowed() by one towards
// a new limit. If allowed() has not reached the limit after 3 s, it is set to
// the limit. A sudden change would cause a lasting gap or crowd of requests.
// Small answers that lead to further requests would wait behind the bytes of
// the crowd. Later the link would idle until the further requests are answered.
//
// A measurement begins when the new limit has taken effect. It begins again
// whenever fewer requests were wanted than allowed, because an idle resource
// says nothing about the limit.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe:
// the caller locks. Owns its state. Never blocks. No errors.
class ConcurrencyTuner {
 public:
  explicit ConcurrencyTuner(const ConcurrencyTunerOptions& options = {});

  // Returns how many requests should be in flight at once.
  int limit() const { return limit_; }
  // Returns how many requests may be in flight now: the limit, or a number on
  // the way to a new limit.
  int allowed() const { return allowed_; }

  // Notes that a request has ended. Not called for cancelled requests.
  void OnAnswer();

  // Notes the resource's state. Call it every few hundredths of a second while
  // requests are made, and once when requests begin again.
  void OnSample(const ConcurrencySample& sample);

 private:
  enum class Stage {
    // limit_ was doubled; base_ is the best limit so far.
    kRamp,
    // limit_ is base_, and is measured.
    kHold,
    // limit_ differs from base_, and is measured.
    kTrial,
    // limit_ is base_ again, and is measured to be compared with the trial.
    kAfter,
  };

  // Returns whether the limit has taken effect. Sets allowed_ to the limit if
  // answers are too few to move it there.
  bool Settles(const ConcurrencySample& sample);
  // Sets limit_ to `limit`. The measurement begins when the limit has taken
  // effect.
  void MoveTo(int limit, Stage stage, const ConcurrencySample& sample);
  // Begins a measurement at this sample.
  void BeginWindow(const ConcurrencySample& sample);
  // Returns whether so many answers are refusals that the limit must shrink.
  bool IsRefused(const ConcurrencySample& sample) const;
  // Shrinks the limit below the one at which requests were refused.
  void BackOff(const ConcurrencySample& sample);
  // Decides what comes next after limit_ has brought `rate` bytes a second.
  void Judge(double rate, const ConcurrencySample& sample);
  // Decides between base_ and the limit that was tried before.
  void JudgeTrial(double rate, const ConcurrencySample& sample);
  // Begins a trial in the direction of upward_, or in the other direction if
  // base_ is at a bound.
  void TryAnother(const ConcurrencySample& sample);
  // Returns the limit to try: a quarter above or below base_.
  int Neighbour() const;

  const ConcurrencyTunerOptions options_;
  int limit_;
  int allowed_;
  // Whether the next answer moves allowed_: every other one does.
  bool steps_ = false;
  Stage stage_ = Stage::kRamp;
  // The best limit so far.
  int base_;
  // Bytes a second at base_; 0 if not measured.
  double base_rate_ = 0;
  // Whether the doubled limit did not pay when last measured.
  bool doubted_ = false;
  // The limit of the last trial, and its rate in bytes a second.
  int trial_ = 0;
  double trial_rate_ = 0;
  // Whether the next trial goes upward.
  bool upward_ = true;
  // The number of trials in a row that did not pay.
  int failed_ = 0;
  // The number of measurements of base_ to be made before the next trial.
  int holds_left_ = 0;

  bool began_ = false;
  // Whether the limit has taken effect.
  bool settled_ = false;
  // Whether the newest limit is lower than the limit before it.
  bool down_ = false;
  // Whether allowed_ has reached limit_.
  bool reached_ = false;
  // The earliest time at which a limit that allowed_ has reached counts as
  // having taken effect.
  std::int64_t settles_nanos_ = 0;
  // The time at which the present wait ends at the latest. The first wait is
  // for answers to move allowed_ to limit_. The second is for the requests
  // beyond limit_ to end.
  std::int64_t deadline_nanos_ = 0;
  // The sample at which the measurement began.
  ConcurrencySample window_;
  // The sample from which refusals are counted.
  ConcurrencySample refusals_since_;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_
