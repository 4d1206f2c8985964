#ifndef FOREBAY_SERVER_SCHEDULE_TOKEN_BUCKET_H_
#define FOREBAY_SERVER_SCHEDULE_TOKEN_BUCKET_H_

#include <cstdint>

namespace forebay::schedule {

// Caps a rate, and lets bursts through up to the bucket's size. An amount
// larger than the bucket passes when the bucket is full, and is paid off
// afterwards. Time is an argument: nanoseconds that never run backwards. Not
// thread-safe; never blocks. No errors.
class TokenBucket {
 public:
  // `rate` in units a second and `burst` in units, both positive. Starts full.
  TokenBucket(double rate, double burst, std::int64_t now_nanos);

  // Takes `amount` units if they may pass now.
  bool TryTake(double amount, std::int64_t now_nanos);

  // Returns when `amount` units may pass if nobody takes any before:
  // `now_nanos` or later; INT64_MAX if that is centuries away.
  std::int64_t ReadyAt(double amount, std::int64_t now_nanos);

  // Takes `amount` units in any case, on credit if need be. Returns when they
  // may pass; all later ones pass after them.
  std::int64_t Reserve(double amount, std::int64_t now_nanos);

  // Takes `amount` units or, below 0, returns them, whatever the bucket holds.
  void Charge(double amount, std::int64_t now_nanos);

 private:
  void Accrue(std::int64_t now_nanos);
  double Needed(double amount) const;

  const double rate_;
  const double burst_;
  double tokens_;  // negative: owed
  std::int64_t last_nanos_;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_TOKEN_BUCKET_H_
