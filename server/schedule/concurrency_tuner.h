#ifndef FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_
#define FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_

#include <cstddef>
#include <cstdint>

namespace forebay::schedule {

// Of requests at once: 0 < min <= initial <= max.
struct ConcurrencyTunerOptions {
  int min = 4;
  int initial = 16;
  int max = 256;
};

// How a resource does; what is counted is counted from the beginning.
struct ConcurrencySample {
  std::int64_t now_nanos = 0;
  std::uint64_t delivered = 0;  // bytes
  std::uint64_t answers = 0;
  std::uint64_t busy = 0;  // of them: those that ask for fewer requests
  std::size_t in_flight = 0;
  // Whether there was a moment since the last sample when fewer requests than
  // the limit allows were wanted: what is measured then says nothing of it.
  bool starved = false;
  std::int64_t latency_nanos = 0;  // usual, to the first byte; 0: not known
};

// Finds how many requests at once get the most out of a resource, by trying.
//
// A limit is judged by its utility, rate / limit^a with a small a: twice as
// many requests must bring at least 4 % more bytes a second. So a link on which
// more requests bring more is filled, and one that is full is not buried. The
// limit first doubles for as long as that pays. Then a limit a quarter higher
// or lower is tried now and then, between two measurements of the present one,
// and taken where it is better; where neither is, tries become rarer. While
// many answers are refusals, the limit shrinks, and tries wait.
//
// Each measurement lets a new limit take effect first, and is made anew where
// requests were wanting: a resource that nobody uses is not judged.
//
// Time is an argument: nanoseconds that never run backwards. Not thread-safe;
// never blocks. No errors.
class ConcurrencyTuner {
 public:
  explicit ConcurrencyTuner(const ConcurrencyTunerOptions& options = {});

  // Requests at once from now on.
  int limit() const { return limit_; }

  // To be called every few hundredths of a second while requests are made, and
  // once when they begin anew.
  void OnSample(const ConcurrencySample& sample);

 private:
  enum class Stage {
    kRamp,   // limit_ is a doubled one; base_ is the best so far
    kHold,   // limit_ is base_
    kTrial,  // limit_ is another than base_
    kAfter,  // limit_ is base_ again, to be measured after the trial
  };

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
  Stage stage_ = Stage::kRamp;
  int base_;
  double base_rate_ = 0;  // bytes a second; 0: not measured
  int trial_ = 0;
  double trial_rate_ = 0;
  bool upward_ = true;  // the next trial
  int failed_ = 0;      // trials one after the other
  int holds_left_ = 0;  // measurements of base_ before the next trial

  bool began_ = false;
  bool settled_ = false;
  std::int64_t settles_nanos_ = 0;    // not before
  std::int64_t patience_nanos_ = 0;   // whatever is in flight then
  ConcurrencySample window_;          // its beginning
  ConcurrencySample refusals_since_;  // what refusals are counted from
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_CONCURRENCY_TUNER_H_
