// Tests of coalesced reads that fail, or whose callers do not wait for their
// end.

#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "server/storage/coalesced_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/coalesced_source_fixture.h"

namespace forebay::storage {
namespace {

using tests::Contains;
using tests::Each;
using tests::ElementsAre;
using tests::SizeIs;

TEST_CASE_METHOD(
    CoalescedSourceTest,
    "The requests of a coalesced range that fails are read one by one",
    "[storage][coalesced_source_failures]") {
  faulty_.Fail("shard", absl::DataLossError("shard: a bad sector"), 2);
  Read({Request(0, 1000), Request(1000, 1000), Request(2000, 1000)});
  CHECK_THAT(below_.log(), ElementsAre("shard 0+3000", "shard 0+1000",
                                       "shard 1000+1000", "shard 2000+1000"));
  CHECK_THAT(log(), ElementsAre("DATA_LOSS: shard: a bad sector", "y", "y"));
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "A job that joined a coalesced range that fails has joined "
                 "what is read again",
                 "[storage][coalesced_source_failures]") {
  faulty_.Hold();
  std::vector<ReadRequest> requests;
  for (std::uint64_t i = 0; i < 3; ++i) {
    requests.push_back(Request(1000 * i, 1000));
    requests.back().ticket = 10 + i;
  }
  Read(std::move(requests));
  const std::uint64_t whole = below_.noted()[0].ticket;
  source_->Share(11, {.job = 2});
  source_->Share(12, {.job = 3});
  source_->Share(12, {.job = 4});
  CHECK_THAT(below_.shared(), ElementsAre(whole, whole, whole));
  faulty_.Fail("shard", absl::DataLossError("shard: a bad sector"));
  // Another job joins when the first request is read again.
  below_.set_on_read([this] { source_->Share(11, {.job = 5}); });
  faulty_.Release();
  CHECK_THAT(log(), ElementsAre("y", "y", "y"));
  CHECK_THAT(below_.shared(),
             ElementsAre(whole, whole, whole, 11, 11, 11, 12, 12));
  CHECK_THAT(below_.sharers(), ElementsAre(2, 3, 4, 5, 2, 5, 3, 4));
}

TEST_CASE_METHOD(
    CoalescedSourceTest,
    "An object that has changed is an error for each coalesced request",
    "[storage][coalesced_source_failures]") {
  memory_.Put("shard", "changed");
  Read({Request(0, 1000), Request(1000, 1000)});
  CHECK_THAT(log(), ElementsAre(Contains("FAILED_PRECONDITION: shard"),
                                Contains("FAILED_PRECONDITION: shard")));
}

TEST_CASE_METHOD(CoalescedSourceTest,
                 "A coalesced source reads nothing again once it is stopped",
                 "[storage][coalesced_source_failures]") {
  faulty_.Fail("shard", absl::CancelledError("shard: is ending"));
  Read({Request(0, 1000), Request(1000, 1000)});
  source_->Stop();
  faulty_.Fail("shard", absl::UnavailableError("shard: is ending"));
  Read({Request(0, 1000), Request(1000, 1000)});
  CHECK_THAT(below_.log(), SizeIs(2));
  CHECK_THAT(log(), SizeIs(4));
  CHECK_THAT(log(), Each(Contains("CANCELLED: shard")));
}

TEST_CASE_METHOD(
    CoalescedSourceTest,
    "Destruction of a coalesced source waits for reads that are under way",
    "[storage][coalesced_source_failures]") {
  faulty_.Hold();
  Read({Request(0, 1000), Request(1000, 1000)});
  std::jthread destroyer([this] { source_.reset(); });
  faulty_.Release();
  destroyer.join();
  CHECK_THAT(log(), ElementsAre("y", "y"));
}

}  // namespace
}  // namespace forebay::storage
