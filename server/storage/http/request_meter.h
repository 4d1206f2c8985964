#ifndef FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/schedule/request_cost.h"

namespace forebay::storage::http {

// Measures the cost of a request beside its bytes. Counts only stretches of
// time in which another request always waited, as many as allowed were in
// flight, and none failed. A request in flight when a stretch begins or ends
// counts for the part of its time that lies within.
//
// Pure: time is an argument, nanoseconds that never run backwards. Not
// thread-safe; never blocks; no errors.
class RequestMeter {
 public:
  // The cost until it is measured.
  static constexpr std::int64_t kFirstCost = 128 << 10;

  struct MeteredRequest {
    std::uint64_t number;
    std::int64_t began_nanos;
  };

  MeteredRequest Began(std::int64_t now_nanos);
  // Call one of these for each request that began: Ended with the bytes that it
  // brought, Failed, or Left if it takes no part in what is in flight any more.
  void Ended(const MeteredRequest& request, std::int64_t now_nanos,
             std::int64_t bytes);
  void Failed();
  void Left(const MeteredRequest& request);

  // Call it every few hundredths of a second while requests are made. From now
  // on `at_once` may be in flight; `starved` is whether fewer were at some
  // moment since the last call.
  void Look(std::int64_t now_nanos, std::size_t at_once, bool starved);

  // Returns the cost of a request beside its bytes, in bytes.
  std::int64_t cost() const { return cost_.bytes(); }

 private:
  struct Stretch {
    std::int64_t begin_nanos;
    std::int64_t end_nanos = INT64_MAX;
    double requests = 0;
    double bytes = 0;

    void Add(const MeteredRequest& request, std::int64_t now_nanos,
             std::int64_t size);
  };

  // A request that began in the stretch before is not in flight any more.
  void LeaveBefore(const MeteredRequest& request);
  void Observe();

  schedule::RequestCost cost_{kFirstCost};
  std::size_t at_once_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t last_number_ = 0;
  bool failed_ = false;  // since the last look
  std::optional<Stretch> now_;
  // The previous stretch, while requests of its time are in flight.
  std::optional<Stretch> before_;
  std::uint64_t before_last_ = 0;  // the last that began in it
  std::size_t before_left_ = 0;    // those in flight
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_
