#include "server/stream/batch_charges.h"

#include <cstdint>
#include <memory>

#include "server/base/memory_budget.h"
#include "server/pipeline/shared_workspace.h"
#include "server/slots/channel.h"
#include "server/stream/epoch_pair.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

TEST_CASE("A read that its own job pays for has no list of payers",
          "[stream][batch_charges]") {
  ReadPayers payers;
  storage::ReadRequest request;
  request.purpose.job = 1;
  payers.Charge({1}, &request);
  CHECK(request.purpose.payers == nullptr);
}

TEST_CASE("Consecutive reads of the same payers share their list",
          "[stream][batch_charges]") {
  ReadPayers payers;
  storage::ReadRequest requests[3];
  payers.Charge({1, 2}, &requests[0]);
  payers.Charge({1, 2}, &requests[1]);
  payers.Charge({3}, &requests[2]);
  REQUIRE(requests[0].purpose.payers != nullptr);
  CHECK(requests[0].purpose.payers == requests[1].purpose.payers);
  REQUIRE(requests[2].purpose.payers != nullptr);
  CHECK(*requests[2].purpose.payers == std::vector<std::uint64_t>{3});
}

class BatchChargesTest {
 protected:
  static constexpr std::uint64_t kWindow = std::uint64_t{16} << 20;

  void Start(Member& member) {
    members_.Start(member, EpochPair::Of(spec_.sampler, 0), 0, 0);
    charges_.MembersChanged();
  }
  void Stop(Member& member) {
    member.Stop();
    charges_.MembersChanged();
  }
  // Updates the charges, and returns the flows that pay for the batch.
  BatchCharges::Flows Update(const Batch& batch) {
    StreamPlan plan;
    charges_.Update(&plan);
    return batch.charged;
  }

  const StreamSpec spec_ = FakeStreamSpec(1000, 10);
  base::MemoryBudget budget_{kWindow};
  FakeProduction production_{/*seed=*/1};
  pipeline::SharedWorkspace workspace_{pipeline::WorkspaceLimits{}};
  const std::unique_ptr<slots::Channel> channel_ = *slots::Channel::Create();
  MemberSet members_{spec_.batch,
                     {.next_use_registry = nullptr, .dataset = spec_.dataset}};
  InFlightBatches in_flight_{spec_.batch, /*seed=*/1, /*dataset_size=*/1000};
  const Prefetcher prefetcher_{&spec_, storage::kEncoded, &budget_,
                               *budget_.Reserve(kWindow, "reads")};
  SampleTasks tasks_{/*places=*/1, nullptr, /*has_affinity=*/false, &members_,
                     &in_flight_};
  const std::shared_ptr<sample::LargeSamples> large_ =
      std::make_shared<sample::LargeSamples>(&production_, &workspace_);
  BatchCharges charges_{&members_, &in_flight_, &prefetcher_, &tasks_,
                        large_.get()};
};

TEST_CASE_METHOD(BatchChargesTest, "The members that ran last go on to pay",
                 "[stream][batch_charges]") {
  Member& first = members_.Join(channel_.get(), {.flow = 1, .slots = 4});
  Member& second = members_.Join(channel_.get(), {.flow = 2, .slots = 4});
  Start(first);
  const Batch& batch = *in_flight_.Begin(
      {}, /*samples=*/10, first.cursor().epochs(), first.id(), /*slot=*/0,
      /*host=*/nullptr);
  CHECK(Update(batch) == BatchCharges::Flows{1});
  Stop(first);
  CHECK(Update(batch) == BatchCharges::Flows{1});
  Start(second);
  CHECK(Update(batch) == BatchCharges::Flows{2});
  Start(first);
  CHECK(Update(batch) == BatchCharges::Flows{1, 2});
}

}  // namespace
}  // namespace forebay::stream
