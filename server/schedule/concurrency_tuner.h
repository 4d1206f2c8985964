#ifndef FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_
#define FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_

#include <cstddef>
#include <cstdint>

namespace forebay::schedule {

// Bounds of the requests at once: 0 < min <= initial <= max.
struct ConcurrencyTunerOptions {
  int min = 4;
  int initial = 16;
  int max = 256;
};

// The state of a resource; counts begin at its start.
struct ConcurrencySample {
  std::int64_t now_nanos = 0;
  std::uint64_t delivered = 0;  // bytes
  std::uint64_t answers = 0;
  std::uint64_t busy = 0;  // answers that ask for fewer requests
  std::size_t in_flight = 0;
  // Whether, at some moment since the last sample, fewer requests were wanted
  // than are allowed: a rate measured then says nothing of the limit.
  bool starved = false;
  std::int64_t latency_nanos = 0;  // usual, to the first byte; 0 if unknown
};

// Finds by trials how many requests at once get the most out of a resource.
//
// The utility of a limit is rate / limit^a with a small a: twice as many
// requests must bring at least 4 % more bytes a second. So the tuner fills a
// link on which more requests bring more, and does not overload one that is
// full. The limit first doubles until two measurements say that this does not
// pay: one may have been disturbed, and smaller steps take much longer. Then
// the tuner tries a limit a quarter higher or lower now and then, between two
// measurements of the current one. It takes the other limit if that is better;
// if neither is, trials become rarer. While many answers are refusals, the
// limit shrinks at once, and trials wait.
//
// Any other new limit is approached by one request at every other answer, or
// set where few come. A sudden change would make a gap or a crowd of requests,
// which lasts. For where one request leads to the next, small answers wait
// behind the bytes of the crowd. Then the link waits for what they led to.
//
// Each measurement first lets a new limit take effect. It begins anew if there
// were too few requests: an idle resource is not judged.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe;
// never blocks. No errors.
class ConcurrencyTuner {
 public:
  explicit ConcurrencyTuner(const ConcurrencyTunerOptions& options = {});

  // Returns how many requests should be in flight at once.
  int limit() const { return limit_; }
  // Returns how many may be in flight now: the limit, or on the way to it.
  int allowed() const { return allowed_; }

  // Call it when a request ends that was not cancelled.
  void OnAnswer();

  // Call it every few hundredths of a second while requests are made, and once
  // when they begin anew.
  void OnSample(const ConcurrencySample& sample);

 private:
  enum class Stage {
    kRamp,   // limit_ is a doubled one; base_ is the best so far
    kHold,   // limit_ is base_
    kTrial,  // limit_ is another than base_
    kAfter,  // limit_ is base_ again, to be measured after the trial
  };

  // Whether the limit has taken effect.
  bool Settles(const ConcurrencySample& sample);
  void MoveTo(int limit, Stage stage, const ConcurrencySample& sample);
  void BeginWindow(const ConcurrencySample& sample);
  bool IsRefused(const ConcurrencySample& sample) const;
  void BackOff(const ConcurrencySample& sample);
  // The rate at limit_ has been measured.
  void Judge(double rate, const ConcurrencySample& sample);
  void JudgeTrial(double rate, const ConcurrencySample& sample);
  void TryAnother(const ConcurrencySample& sample);
  int Neighbour() const;

  const ConcurrencyTunerOptions options_;
  int limit_;
  int allowed_;
  bool steps_ = false;  // at the next answer
  Stage stage_ = Stage::kRamp;
  int base_;
  double base_rate_ = 0;  // bytes a second; 0: not measured
  bool doubted_ = false;  // a doubled limit did not pay when last measured
  int trial_ = 0;
  double trial_rate_ = 0;
  bool upward_ = true;  // the next trial
  int failed_ = 0;      // trials one after the other
  int holds_left_ = 0;  // measurements of base_ before the next trial

  bool began_ = false;
  bool settled_ = false;
  bool down_ = false;               // the limit was higher before
  bool reached_ = false;            // as many are allowed as the limit says
  std::int64_t settles_nanos_ = 0;  // not before, once it is reached
  // Until then answers bring allowed_ to the limit, and requests beyond it end.
  std::int64_t deadline_nanos_ = 0;
  ConcurrencySample window_;          // its beginning
  ConcurrencySample refusals_since_;  // what refusals are counted from
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_
