#include "server/storage/http/request_meter.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::storage::http {
namespace {

using Catch::WithinAbs;

constexpr std::int64_t kLookNanos = 50'000'000;

// A server that makes each connection wait, and then sends its bytes at a fixed
// rate.
struct FarServer {
  std::int64_t latency_nanos = 100'000'000;
  std::int64_t nanos_a_byte = 500;

  // Makes `requests` requests of `size()` bytes each, and calls `look` at the
  // same times as RangedSource does.
  void Serve(int connections, int requests,
             const std::function<std::int64_t()>& size, RequestMeter* meter,
             const std::function<void(std::int64_t now)>& look) const {
    struct MeteredRequest {
      std::int64_t ends;
      std::int64_t bytes;
      RequestMeter::MeteredRequest metered;
      bool operator>(const MeteredRequest& other) const {
        return ends > other.ends;
      }
    };
    std::priority_queue<MeteredRequest, std::vector<MeteredRequest>,
                        std::greater<>>
        flights;
    const auto start = [&](std::int64_t now) {
      const std::int64_t bytes = size();
      flights.push({now + latency_nanos + bytes * nanos_a_byte, bytes,
                    meter->Began(now)});
    };
    for (int i = 0; i < connections; ++i) start(0);
    std::int64_t next_look = kLookNanos;
    for (; requests > 0; --requests) {
      const MeteredRequest flight = flights.top();
      flights.pop();
      for (; next_look <= flight.ends; next_look += kLookNanos) look(next_look);
      meter->Ended(flight.metered, flight.ends, flight.bytes);
      start(flight.ends);
    }
  }
};

class RequestMeterTest {
 protected:
  // Returns sizes from 4 KB to 1 MB, small ones more often.
  std::function<std::int64_t()> Mixed() {
    return [this] { return std::int64_t{4000} << random_() % 9; };
  }
  std::function<void(std::int64_t)> Looks(std::size_t at_once,
                                          bool starved = false) {
    return [=, this](std::int64_t now) { meter_.Look(now, at_once, starved); };
  }

  const std::uint32_t seed_ = std::random_device()();
  const Catch::ScopedMessage trace_{
      Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO,
                            Catch::ResultWas::Info)
      << "seed " << seed_};
  std::mt19937 random_{seed_};
  RequestMeter meter_;
};

TEST_CASE_METHOD(RequestMeterTest,
                 "A request of a far server costs the bytes of its wait",
                 "[http][request_meter]") {
  for (const int connections : {4, 16, 64, 200}) {
    meter_ = RequestMeter();
    // With fewer requests on each connection, the meter may not have seen
    // enough sizes yet.
    FarServer().Serve(connections, 1'000 * connections, Mixed(), &meter_,
                      Looks(connections));
    CAPTURE(connections);
    CHECK_THAT(static_cast<double>(meter_.cost()), WithinAbs(200'000, 1'000));
  }
}

TEST_CASE_METHOD(RequestMeterTest, "A request of a near server costs little",
                 "[http][request_meter]") {
  const FarServer near = {.latency_nanos = 5'000'000};
  near.Serve(16, 20'000, Mixed(), &meter_, Looks(16));
  CHECK_THAT(static_cast<double>(meter_.cost()), WithinAbs(10'000, 500));
}

TEST_CASE_METHOD(
    RequestMeterTest,
    "Requests of equal sizes tell nothing about the cost of a request",
    "[http][request_meter]") {
  FarServer().Serve(
      16, 5'000, [] { return 100'000; }, &meter_, Looks(16));
  CHECK(meter_.cost() == RequestMeter::kFirstCost);
}

TEST_CASE_METHOD(
    RequestMeterTest,
    "A source that lacks work does not change the cost of a request",
    "[http][request_meter]") {
  FarServer().Serve(16, 5'000, Mixed(), &meter_, Looks(16, true));
  CHECK(meter_.cost() == RequestMeter::kFirstCost);
}

TEST_CASE_METHOD(
    RequestMeterTest,
    "A source of which requests fail does not change the cost of a request",
    "[http][request_meter]") {
  FarServer().Serve(16, 5'000, Mixed(), &meter_, [&](std::int64_t now) {
    meter_.Began(now);
    meter_.Failed();
    meter_.Look(now, 16, false);
  });
  CHECK(meter_.cost() == RequestMeter::kFirstCost);
}

TEST_CASE_METHOD(
    RequestMeterTest,
    "Requests that leave count for nothing in the cost of a request",
    "[http][request_meter]") {
  std::optional<RequestMeter::MeteredRequest> stalled;
  std::size_t at_once = 0;
  FarServer().Serve(16, 20'000, Mixed(), &meter_, [&](std::int64_t now) {
    if (stalled.has_value()) meter_.Left(*stalled);
    stalled.reset();
    // The first stretch begins without a stalled request.
    if (std::exchange(at_once, 16) > 0) stalled = meter_.Began(now);
    meter_.Look(now, 16, false);
  });
  CHECK_THAT(static_cast<double>(meter_.cost()), WithinAbs(200'000, 1'000));
}

TEST_CASE_METHOD(RequestMeterTest,
                 "A source whose number of requests changes does not change "
                 "the cost of a request",
                 "[http][request_meter]") {
  std::size_t at_once = 16;
  FarServer().Serve(16, 5'000, Mixed(), &meter_, [&](std::int64_t now) {
    meter_.Look(now, at_once ^= 1, false);
  });
  CHECK(meter_.cost() == RequestMeter::kFirstCost);
}

}  // namespace
}  // namespace forebay::storage::http
