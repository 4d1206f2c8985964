#include "server/storage/http/request_meter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace forebay::storage::http {
namespace {

constexpr std::int64_t kLookNanos = 50'000'000;

// A server that makes each connection wait, and then sends its bytes at a rate
// of their own.
struct FarServer {
  std::int64_t latency_nanos = 100'000'000;
  std::int64_t nanos_a_byte = 500;

  // Makes `requests` of `size()` bytes. `look` is called as RangedSource does.
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

class RequestMeterTest : public ::testing::Test {
 protected:
  void SetUp() override { RecordProperty("seed", static_cast<int>(seed_)); }

  // Returns sizes from 4 KB to 1 MB, small ones more often.
  std::function<std::int64_t()> Mixed() {
    return [this] { return std::int64_t{4000} << random_() % 9; };
  }
  std::function<void(std::int64_t)> Looks(std::size_t at_once,
                                          bool starved = false) {
    return [=, this](std::int64_t now) { meter_.Look(now, at_once, starved); };
  }

  const std::uint32_t seed_ = std::random_device()();
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, seed_};
  std::mt19937 random_{seed_};
  RequestMeter meter_;
};

TEST_F(RequestMeterTest, ARequestOfAFarServerCostsTheBytesOfItsWait) {
  for (const int connections : {4, 16, 64, 200}) {
    meter_ = RequestMeter();
    FarServer().Serve(connections, 20'000, Mixed(), &meter_,
                      Looks(connections));
    EXPECT_NEAR(static_cast<double>(meter_.cost()), 200'000, 1'000)
        << connections;
  }
}

TEST_F(RequestMeterTest, ARequestOfANearServerCostsLittle) {
  const FarServer near = {.latency_nanos = 5'000'000};
  near.Serve(16, 20'000, Mixed(), &meter_, Looks(16));
  EXPECT_NEAR(static_cast<double>(meter_.cost()), 10'000, 500);
}

TEST_F(RequestMeterTest, EqualSizesTellNothing) {
  FarServer().Serve(
      16, 5'000, [] { return 100'000; }, &meter_, Looks(16));
  EXPECT_EQ(meter_.cost(), RequestMeter::kFirstCost);
}

TEST_F(RequestMeterTest, NeitherDoesASourceThatLacksWork) {
  FarServer().Serve(16, 5'000, Mixed(), &meter_, Looks(16, true));
  EXPECT_EQ(meter_.cost(), RequestMeter::kFirstCost);
}

TEST_F(RequestMeterTest, NorOneOfWhichRequestsFail) {
  FarServer().Serve(16, 5'000, Mixed(), &meter_, [&](std::int64_t now) {
    meter_.Began(now);
    meter_.Failed();
    meter_.Look(now, 16, false);
  });
  EXPECT_EQ(meter_.cost(), RequestMeter::kFirstCost);
}

TEST_F(RequestMeterTest, RequestsThatLeaveCountForNothing) {
  std::optional<RequestMeter::MeteredRequest> stalled;
  std::size_t at_once = 0;
  FarServer().Serve(16, 20'000, Mixed(), &meter_, [&](std::int64_t now) {
    if (stalled.has_value()) meter_.Left(*stalled);
    stalled.reset();
    // The first stretch begins without one.
    if (std::exchange(at_once, 16) > 0) stalled = meter_.Began(now);
    meter_.Look(now, 16, false);
  });
  EXPECT_NEAR(static_cast<double>(meter_.cost()), 200'000, 1'000);
}

TEST_F(RequestMeterTest, NorOneWhoseNumberOfRequestsChanges) {
  std::size_t at_once = 16;
  FarServer().Serve(16, 5'000, Mixed(), &meter_, [&](std::int64_t now) {
    meter_.Look(now, at_once ^= 1, false);
  });
  EXPECT_EQ(meter_.cost(), RequestMeter::kFirstCost);
}

}  // namespace
}  // namespace forebay::storage::http
