#ifndef FOREBAY_SERVER_SCHEDULE_REQUEST_COST_H_
#define FOREBAY_SERVER_SCHEDULE_REQUEST_COST_H_

#include <cstdint>

namespace forebay::schedule {

// Measures how much one request costs in addition to its bytes. The cost is
// expressed as the number of bytes that the resource could have carried
// instead.
//
// The math: a busy resource spends time a on each request and time b on each
// byte, no matter how many requests it works on side by side. At rates r of
// requests and R of bytes, a·r + b·R = 1. This is a line through (1/a, 0) and
// (0, 1/b), the rates that requests alone and bytes alone would reach. Least
// squares over the observations, older ones with less weight, give a and b; a
// request then costs a / b bytes. While all requests have about the same size,
// the observations cannot tell a from b. The cost then does not matter either,
// and the cost computed last stays.
//
// Not thread-safe; the caller locks. Owns its sums. Never blocks, reads no
// clock. No errors.
class RequestCost {
 public:
  // Bounds of the cost, in bytes.
  static constexpr std::int64_t kMin = 4 << 10;
  static constexpr std::int64_t kMax = 4 << 20;

  // `bytes` is the cost until enough was observed.
  explicit RequestCost(std::int64_t bytes = 32 << 10) : bytes_(bytes) {}

  // Adds an observation: a stretch of `nanos` nanoseconds in which the resource
  // never lacked work, and the requests and bytes that it completed. A stretch
  // needs many requests, because those in flight at its ends are not counted.
  void Observe(double requests, double bytes, double nanos);

  // Returns the cost of one request, in bytes.
  std::int64_t bytes() const { return bytes_; }

 private:
  // Solves the normal equations of the sums, if the sizes of requests differ
  // enough.
  void Fit();

  std::int64_t bytes_;
  // Weighted sums over the observations: products of the rates r (requests a
  // second) and R (megabytes a second), and the rates themselves.
  double requests_squared_ = 0;
  double requests_bytes_ = 0;
  double bytes_squared_ = 0;
  double requests_sum_ = 0;
  double bytes_sum_ = 0;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_REQUEST_COST_H_
