#ifndef FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_

#include <cstdint>
#include <optional>

#include "server/schedule/request_cost.h"

namespace forebay::storage::http {

// Measures what a request costs beside its bytes. Only stretches of time count
// in which there was always another request to be made and as many were under
// way at once; each begins when the requests of what was before have ended.
//
// Pure: time is an argument, nanoseconds that never run backwards. Not
// thread-safe; never blocks; no errors.
class RequestMeter {
 public:
  // Until it is measured.
  static constexpr std::int64_t kFirstCost = 128 << 10;

  // A request ended well, and has brought so many bytes.
  void Ended(std::int64_t bytes);

  // To be called every few hundredths of a second while requests are made.
  // `at_once` of them may be under way from now on; `starved` is whether they
  // were fewer at some moment since the last look.
  void Look(std::int64_t now_nanos, int at_once, bool starved);

  // What a request costs beside its bytes, in bytes.
  std::int64_t cost() const { return cost_.bytes(); }

 private:
  void Begin(std::optional<std::int64_t> now_nanos);

  schedule::RequestCost cost_{kFirstCost};
  int at_once_ = 0;
  std::optional<std::int64_t> began_nanos_;  // null: the stretch is to come
  std::int64_t requests_ = 0;                // ended since then
  std::int64_t bytes_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_REQUEST_METER_H_
