#include "server/storage/paid_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Holds reads until it is told to give them, and notes who shares them.
class HeldSource final : public ByteSource {
 public:
  void Read(absl::Span<ReadRequest> requests) override {
    for (ReadRequest& request : requests) held.push_back(std::move(request));
    if (on_read) on_read();
  }
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override {
    shares.emplace_back(ticket, purpose);
  }
  void GiveAll() {
    for (ReadRequest& request : std::exchange(held, {}))
      std::exchange(request.done, nullptr)(ReadResult());
  }

  std::vector<ReadRequest> held;
  std::vector<std::pair<std::uint64_t, ReadPurpose>> shares;
  std::function<void()> on_read;
};

class PaidSourceTest : public testing::Test {
 protected:
  void Read(std::uint64_t urgency = 0) {
    ReadRequest request;
    request.purpose = {.job = 9, .urgency = urgency};
    request.done = [this](const absl::StatusOr<ReadResult>&) { ++given_; };
    source_.Read({&request, 1});
  }
  // Returns the jobs that pay for the last read.
  std::vector<std::uint64_t> LastPayers() const {
    const auto payers = PayersOf(below_.held.back().purpose);
    return {payers.begin(), payers.end()};
  }
  std::vector<std::uint64_t> Sharers() const {
    std::vector<std::uint64_t> jobs;
    for (const auto& [ticket, purpose] : below_.shares)
      jobs.push_back(purpose.job);
    return jobs;
  }

  HeldSource below_;
  PaidSource source_{&below_, /*job=*/1};
  int given_ = 0;
};

TEST_F(PaidSourceTest, ItsJobPaysForAllReads) {
  Read(/*urgency=*/5);
  EXPECT_EQ(below_.held[0].purpose.job, 1u);
  EXPECT_EQ(below_.held[0].purpose.urgency, 5u);
  EXPECT_EQ(below_.held[0].purpose.payers, nullptr);
  below_.GiveAll();
  EXPECT_EQ(given_, 1);
}

TEST_F(PaidSourceTest, NewPayersShareTheReadsInFlight) {
  Read(/*urgency=*/5);
  Read();
  const std::uint64_t first = below_.held[0].ticket;
  EXPECT_NE(first, below_.held[1].ticket);
  source_.SetPayers({1, 2, 2});
  EXPECT_THAT(Sharers(), ElementsAre(2, 2));
  for (const auto& [ticket, purpose] : below_.shares)
    EXPECT_EQ(purpose.urgency, ticket == first ? 5u : 0u);
  Read();
  EXPECT_THAT(LastPayers(), ElementsAre(1, 2));
  EXPECT_EQ(below_.held.back().purpose.job, 1u);
}

TEST_F(PaidSourceTest, AJobThatLeavesPaysForNoLaterRead) {
  Read();
  source_.SetPayers({1, 2});
  source_.SetPayers({2});
  Read();
  EXPECT_THAT(LastPayers(), ElementsAre(2));
  EXPECT_EQ(below_.held.back().purpose.job, 2u);
  source_.SetPayers({});
  Read();
  EXPECT_THAT(LastPayers(), ElementsAre(2)) << "somebody pays";
  below_.shares.clear();
  source_.SetPayers({1, 2});
  EXPECT_THAT(Sharers(), ElementsAre(1, 1)) << "the first read knows both";
}

TEST_F(PaidSourceTest, ReadsThatAreDoneAreNotShared) {
  Read();
  below_.GiveAll();
  source_.SetPayers({1, 2});
  EXPECT_THAT(below_.shares, IsEmpty());
}

TEST_F(PaidSourceTest, AReadIsSharedOnlyOnceItWasSent) {
  below_.on_read = [this] {
    source_.SetPayers({1, 2});
    EXPECT_THAT(below_.shares, IsEmpty());
  };
  Read();
  EXPECT_THAT(Sharers(), ElementsAre(2));
  EXPECT_EQ(below_.shares[0].first, below_.held[0].ticket);
}

TEST_F(PaidSourceTest, ReadsInFlightOutliveIt) {
  {
    PaidSource source(&below_, 3);
    ReadRequest request;
    request.done = [this](const absl::StatusOr<ReadResult>&) { ++given_; };
    source.Read({&request, 1});
  }
  below_.GiveAll();
  EXPECT_EQ(given_, 1);
}

}  // namespace
}  // namespace forebay::storage
