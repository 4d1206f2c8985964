#ifndef FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/schedule/request_cost.h"

namespace forebay::storage::http {

// Measures, in stretches of time, what a request costs besides its bytes. A
// stretch is a period in which further requests always waited, as many requests
// as allowed were in flight, and none failed. A request that a stretch cuts off
// counts in part: by the share of its time that lies within the stretch.
//
// Pure: time is an argument, in nanoseconds that never run backwards. Not
// thread-safe; the user owns it. Never blocks; no errors.
class RequestMeter {
 public:
  // The cost, in bytes, until it is measured.
  static constexpr std::int64_t kFirstCost = 128 << 10;

  // A request in flight: its number, from 1 on, and the time at which it began.
  struct MeteredRequest {
    std::uint64_t number;
    std::int64_t began_nanos;
  };

  // Counts a request that begins now.
  MeteredRequest Began(std::int64_t now_nanos);
  // Ended, Failed and Left end a request: each request gets one of these calls.
  // Ended counts the bytes that the request brought. Left is for a request that
  // no longer counts among those in flight.
  void Ended(const MeteredRequest& request, std::int64_t now_nanos,
             std::int64_t bytes);
  void Failed();
  void Left(const MeteredRequest& request);

  // Ends the stretch if it is long enough. The caller calls Look every few
  // hundredths of a second while requests are made. `at_once` requests may be
  // in flight from now on. `starved` tells whether fewer requests were in
  // flight at some moment since the last call.
  void Look(std::int64_t now_nanos, std::size_t at_once, bool starved);

  // Returns what a request costs besides its bytes, in bytes.
  std::int64_t cost() const { return cost_.bytes(); }

 private:
  // A period that is measured, with the requests and bytes that lie within it.
  struct Stretch {
    std::int64_t begin_nanos;
    std::int64_t end_nanos = INT64_MAX;
    double requests = 0;
    double bytes = 0;

    void Add(const MeteredRequest& request, std::int64_t now_nanos,
             std::int64_t size);
  };

  // Takes note that a request of the previous stretch is no longer in flight.
  void LeaveBefore(const MeteredRequest& request);
  // Measures the previous stretch, and forgets it.
  void Observe();

  schedule::RequestCost cost_{kFirstCost};
  std::size_t at_once_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t last_number_ = 0;
  // Whether a request has failed since the last look.
  bool failed_ = false;
  std::optional<Stretch> now_;
  // The previous stretch, while requests of its time are in flight.
  std::optional<Stretch> before_;
  // The number of the last request that began in the previous stretch.
  std::uint64_t before_last_ = 0;
  // The requests of the previous stretch that are in flight.
  std::size_t before_left_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_
