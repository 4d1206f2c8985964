#ifndef FOREBAY_SERVER_SCHEDULE_TOKEN_BUCKET_H_
#define FOREBAY_SERVER_SCHEDULE_TOKEN_BUCKET_H_

#include <cstdint>

namespace forebay::schedule {

// Caps a rate, and lets bursts through up to the bucket's size. An amount
// larger than the bucket passes when the bucket is full, and its excess is paid
// off afterwards. Time is an argument: nanoseconds that never run backwards.
//
// Not thread-safe: the caller locks. Owns nothing. Never blocks, reads no
// clock. No errors.
class TokenBucket {
 public:
  // `rate` is in units a second and `burst` in units, both positive. The bucket
  // starts full.
  TokenBucket(double rate, double burst, std::int64_t now_nanos);

  // Takes `amount` units if they may pass now. Returns whether they do.
  bool TryTake(double amount, std::int64_t now_nanos);

  // Returns the time, `now_nanos` or later, when `amount` units may pass if
  // nobody takes units before then; INT64_MAX if that is centuries away.
  std::int64_t ReadyAt(double amount, std::int64_t now_nanos);

  // Takes `amount` units in any case, on credit if need be. Returns the time
  // when these units may pass; units taken later pass after them.
  std::int64_t Reserve(double amount, std::int64_t now_nanos);

  // Takes `amount` units whatever the bucket holds. A negative amount returns
  // units to the bucket, up to its size.
  void Charge(double amount, std::int64_t now_nanos);

 private:
  // Adds the units that have accrued until `now_nanos`.
  void Accrue(std::int64_t now_nanos);
  // Returns the units that must be in the bucket for `amount` to pass.
  double Needed(double amount) const;

  const double rate_;
  const double burst_;
  // The units in the bucket; below 0 while units are owed.
  double tokens_;
  // The time up to which units have accrued.
  std::int64_t last_nanos_;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_TOKEN_BUCKET_H_
