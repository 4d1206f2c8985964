#ifndef FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_
#define FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_

#include <cstddef>
#include <cstdint>

namespace forebay::schedule {

// The smallest, first and largest limit of requests at once. 0 < min <= initial
// <= max.
struct ConcurrencyTunerOptions {
  int min = 4;
  int initial = 16;
  int max = 256;
};

// The state of a resource at one moment. The counters begin when the resource
// is created and never decrease.
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

// Finds by trials how many requests at once get the most out of a resource.
//
// The utility of a limit is rate / limit^a with a small a. Twice as many
// requests must bring at least 4 % more bytes a second. The tuner thus fills a
// link on which more requests bring more, and does not overload a full one.
//
// 1. Ramp. The limit doubles until two measurements in a row say that this does
// not pay. One measurement may have been disturbed, and the later steps are
// much smaller.
// 2. Trials. Now and then the tuner tries a limit a quarter higher or lower,
// between two measurements of the current limit. The tuner adopts the tried
// limit if that is better. If neither direction is better, trials become rarer.
// 3. Refusals. While many answers are refusals, the limit shrinks at once, and
// trials wait.
//
// Any other new limit is approached by one request at every other answer, or
// set at once where answers are few. A sudden change would make a gap or a
// crowd of requests that lasts. Small answers, which lead to further requests,
// would wait behind the bytes of the crowd. Later the link would idle until
// those further requests are answered.
//
// Each measurement first lets a new limit take effect. A measurement begins
// anew if too few requests were made: an idle resource is not judged.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe:
// the caller locks. Owns its figures. Never blocks. No errors.
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
  // requests are made, and once when they begin anew.
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
  // Makes `limit` the limit; its measurement begins when it has taken effect.
  void MoveTo(int limit, Stage stage, const ConcurrencySample& sample);
  // Begins a measurement at this sample.
  void BeginWindow(const ConcurrencySample& sample);
  // Returns whether refusals are so many that the limit must shrink.
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
  // The measurements of base_ that are left before the next trial.
  int holds_left_ = 0;

  bool began_ = false;
  // Whether the limit has taken effect.
  bool settled_ = false;
  // Whether the limit is lower than the one before.
  bool down_ = false;
  // Whether allowed_ has reached limit_.
  bool reached_ = false;
  // The earliest time at which the reached limit has taken effect.
  std::int64_t settles_nanos_ = 0;
  // The time at which a wait ends: first the wait until answers have moved
  // allowed_ to limit_, then the wait until the requests beyond limit_ have
  // ended.
  std::int64_t deadline_nanos_ = 0;
  // The sample at which the measurement began.
  ConcurrencySample window_;
  // The sample from which refusals are counted.
  ConcurrencySample refusals_since_;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_
