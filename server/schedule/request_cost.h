#ifndef FOREBAY_SERVER_SCHEDULE_REQUEST_COST_H_
#define FOREBAY_SERVER_SCHEDULE_REQUEST_COST_H_

#include <cstdint>

namespace forebay::schedule {

// Measures the cost of a request beside its bytes: the bytes that the resource
// could have carried instead.
//
// The math: a resource that is kept busy spends a on each request and b on each
// byte, however it works on them side by side. At rates r of requests and R of
// bytes that is a·r + b·R = 1, a line through the rates (1/a, 0) and (0, 1/b)
// that requests alone and bytes alone would reach. Least squares over the
// observations, older ones with less weight, give a and b; a request then costs
// a / b. While all requests are about as large, nothing tells a and b apart,
// nor does it matter: then the last value stays.
//
// Not thread-safe; the caller locks. Never blocks, reads no clock. No errors.
class RequestCost {
 public:
  // In bytes.
  static constexpr std::int64_t kMin = 4 << 10;
  static constexpr std::int64_t kMax = 4 << 20;

  explicit RequestCost(std::int64_t bytes = 32 << 10) : bytes_(bytes) {}

  // Adds a stretch of time in which the resource never lacked work, and the
  // requests and bytes that it completed. A stretch needs many requests: it
  // does not count those in flight at its ends.
  void Observe(double requests, double bytes, double nanos);

  std::int64_t bytes() const { return bytes_; }

 private:
  void Fit();

  std::int64_t bytes_;
  // Sums of products of rates, requests and megabytes a second.
  double requests_squared_ = 0;
  double requests_bytes_ = 0;
  double bytes_squared_ = 0;
  double requests_sum_ = 0;
  double bytes_sum_ = 0;
};

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_REQUEST_COST_H_
