#ifndef FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/schedule/request_cost.h"

namespace forebay::storage::http {

// Measures what a request costs beside its bytes. Only stretches of time count
// in which there was always another request to be made, as many were under way
// at once, and none failed. A request that is under way when a stretch begins
// or ends counts for the part of its time that lies within.
//
// Pure: time is an argument, nanoseconds that never run backwards. Not
// thread-safe; never blocks; no errors.
class RequestMeter {
 public:
  // Until it is measured.
  static constexpr std::int64_t kFirstCost = 128 << 10;

  struct MeteredRequest {
    std::uint64_t number;
    std::int64_t began_nanos;
  };

  MeteredRequest Began(std::int64_t now_nanos);
  // Each that began ends: well, and has brought so many bytes, or not.
  void Ended(const MeteredRequest& flight, std::int64_t now_nanos,
             std::int64_t bytes);
  void Failed();

  // To be called every few hundredths of a second while requests are made.
  // `at_once` of them may be under way from now on; `starved` is whether they
  // were fewer at some moment since the last look.
  void Look(std::int64_t now_nanos, std::size_t at_once, bool starved);

  // What a request costs beside its bytes, in bytes.
  std::int64_t cost() const { return cost_.bytes(); }

 private:
  struct Stretch {
    std::int64_t begin_nanos;
    std::int64_t end_nanos = INT64_MAX;
    double requests = 0;
    double bytes = 0;

    void Add(const MeteredRequest& flight, std::int64_t now_nanos,
             std::int64_t size);
  };

  void Observe();

  schedule::RequestCost cost_{kFirstCost};
  std::size_t at_once_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t last_number_ = 0;
  bool failed_ = false;  // since the last look
  std::optional<Stretch> now_;
  // The one before, as long as requests of its time are under way.
  std::optional<Stretch> before_;
  std::uint64_t before_last_ = 0;  // the last that began in it
  std::size_t before_left_ = 0;    // how many are under way
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_
