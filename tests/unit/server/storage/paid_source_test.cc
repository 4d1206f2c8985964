#include "server/storage/paid_source.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::storage {
namespace {

using tests::ElementsAre;
using tests::IsEmpty;

// A source that holds reads until the test answers them, and records the jobs
// that share them.
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

class PaidSourceTest {
 protected:
  void Read(std::uint64_t urgency = 0) {
    ReadRequest request;
    request.purpose = {.job = 9, .urgency = urgency};
    request.done = [this](const absl::StatusOr<ReadResult>&) { ++given_; };
    source_.Read({&request, 1});
  }
  // Returns the jobs that pay for the latest read.
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

TEST_CASE_METHOD(PaidSourceTest,
                 "The job of a paid source pays for all of its reads",
                 "[storage][paid_source]") {
  Read(/*urgency=*/5);
  CHECK(below_.held[0].purpose.job == 1u);
  CHECK(below_.held[0].purpose.urgency == 5u);
  CHECK(below_.held[0].purpose.payers == nullptr);
  below_.GiveAll();
  CHECK(given_ == 1);
}

TEST_CASE_METHOD(PaidSourceTest,
                 "New payers of a paid source share the reads in flight",
                 "[storage][paid_source]") {
  Read(/*urgency=*/5);
  Read();
  const std::uint64_t first = below_.held[0].ticket;
  CHECK(first != below_.held[1].ticket);
  source_.SetPayers({1, 2, 2});
  CHECK_THAT(Sharers(), ElementsAre(2, 2));
  for (const auto& [ticket, purpose] : below_.shares)
    CHECK(purpose.urgency == (ticket == first ? 5u : 0u));
  Read();
  CHECK_THAT(LastPayers(), ElementsAre(1, 2));
  CHECK(below_.held.back().purpose.job == 1u);
}

TEST_CASE_METHOD(PaidSourceTest,
                 "A job that leaves a paid source pays for no later read",
                 "[storage][paid_source]") {
  Read();
  source_.SetPayers({1, 2});
  source_.SetPayers({2});
  Read();
  CHECK_THAT(LastPayers(), ElementsAre(2));
  CHECK(below_.held.back().purpose.job == 2u);
  source_.SetPayers({});
  Read();
  UNSCOPED_INFO("somebody pays");
  CHECK_THAT(LastPayers(), ElementsAre(2));
  below_.shares.clear();
  source_.SetPayers({1, 2});
  UNSCOPED_INFO("the first read knows both");
  CHECK_THAT(Sharers(), ElementsAre(1, 1));
}

TEST_CASE_METHOD(PaidSourceTest,
                 "A paid source does not share reads that are done",
                 "[storage][paid_source]") {
  Read();
  below_.GiveAll();
  source_.SetPayers({1, 2});
  CHECK_THAT(below_.shares, IsEmpty());
}

TEST_CASE_METHOD(PaidSourceTest,
                 "A paid source shares a read only once it was sent",
                 "[storage][paid_source]") {
  below_.on_read = [this] {
    source_.SetPayers({1, 2});
    CHECK_THAT(below_.shares, IsEmpty());
  };
  Read();
  CHECK_THAT(Sharers(), ElementsAre(2));
  CHECK(below_.shares[0].first == below_.held[0].ticket);
}

TEST_CASE_METHOD(PaidSourceTest, "Reads in flight outlive their paid source",
                 "[storage][paid_source]") {
  {
    PaidSource source(&below_, 3);
    ReadRequest request;
    request.done = [this](const absl::StatusOr<ReadResult>&) { ++given_; };
    source.Read({&request, 1});
  }
  below_.GiveAll();
  CHECK(given_ == 1);
}

}  // namespace
}  // namespace forebay::storage
