#include "server/stream/sample_progress.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/slots/channel.h"
#include "server/stream/epoch_pair.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

class SampleProgressTest {
 protected:
  static constexpr std::uint64_t kWindow = std::uint64_t{16} << 20;

  SampleProgressTest() {
    members_.Start(member_, EpochPair::Of(spec_.sampler, 0), 0, 0);
    batch_cache_.pool().Add(1);
    Batch* const batch =
        in_flight_.Begin({}, /*samples=*/1, member_.cursor().epochs(),
                         member_.id(), *batch_cache_.Take(), /*host=*/nullptr);
    batch->charged = {1};
  }

  // Takes the next sample for a task; nullopt if no task is wanted.
  std::optional<ReadSample> Take() {
    tasks_.EndGuessed({1});
    const std::optional<SampleTask> task = tasks_.Next({1});
    if (!task.has_value()) return std::nullopt;
    std::vector<ReadSample> samples = tasks_.Take(*task);
    REQUIRE(samples.size() == 1);
    return std::move(samples.front());
  }
  // Reads the batch's sample, and takes it for a task.
  ReadSample Read() {
    prefetcher_.Ask(0);
    const auto read = prefetcher_.Next(
        in_flight_, [this](slots::MemberId id) { return members_.Find(id); });
    REQUIRE(read.has_value());
    absl::StatusOr<storage::ReadResult> result = storage::ReadResult();
    progress_.EndRead(read->pending, &result);
    std::optional<ReadSample> sample = Take();
    REQUIRE(sample.has_value());
    return *std::move(sample);
  }

  const StreamSpec spec_ = FakeStreamSpec(1000, 10);
  base::MemoryBudget budget_{2 * kWindow};
  const std::unique_ptr<slots::Channel> channel_ = *slots::Channel::Create();
  MemberSet members_{spec_.batch,
                     {.next_use_registry = nullptr, .dataset = spec_.dataset}};
  Member& member_ = members_.Join(channel_.get(), {.flow = 1, .slots = 4});
  BatchCache batch_cache_{&budget_, {.host = 4096}};
  InFlightBatches in_flight_{spec_.batch, /*seed=*/1, /*dataset_size=*/1000};
  Prefetcher prefetcher_{&spec_, storage::kEncoded, &budget_,
                         *budget_.Reserve(kWindow, "reads")};
  SampleTasks tasks_{/*places=*/1, nullptr, /*has_affinity=*/false, &members_,
                     &in_flight_};
  SampleProgress progress_{&members_, &in_flight_, &prefetcher_, &tasks_,
                           &batch_cache_};
};

TEST_CASE_METHOD(SampleProgressTest,
                 "A sample that was lost with its user-code buffer is read "
                 "again",
                 "[stream][sample_progress]") {
  ReadSample sample = Read();
  PendingSample* const pending = sample.pending;
  sample.lost = sample.laid = true;
  CHECK(prefetcher_.Snapshot().bytes_in_flight > 0);
  progress_.MakeAgain(std::move(sample));
  CHECK_FALSE(Take().has_value());
  CHECK(progress_.samples_to_decode() == 0);
  CHECK(pending->batch->to_decode == 0);
  CHECK(prefetcher_.Snapshot().bytes_in_flight == 0);
  CHECK(in_flight_.waiting() == 1);
  CHECK(in_flight_.Next(/*capped=*/true) == pending);
}

TEST_CASE_METHOD(SampleProgressTest,
                 "A sample that was lost before its image was made is queued "
                 "again",
                 "[stream][sample_progress]") {
  ReadSample sample = Read();
  sample.lost = true;
  progress_.MakeAgain(std::move(sample));
  CHECK(in_flight_.waiting() == 0);
  CHECK(progress_.samples_to_decode() == 1);
  const std::optional<ReadSample> again = Take();
  REQUIRE(again.has_value());
  CHECK_FALSE(again->lost);
  CHECK(progress_.Finish(*again, 0) == again->pending->batch);
}

TEST_CASE_METHOD(SampleProgressTest,
                 "A lost sample of an abandoned batch is not read again",
                 "[stream][sample_progress]") {
  ReadSample sample = Read();
  sample.lost = sample.laid = true;
  in_flight_.Retire(
      member_.id(), [](const BatchKey&) { return std::nullopt; },
      batch_cache_.pool());
  progress_.MakeAgain(std::move(sample));
  CHECK(in_flight_.waiting() == 0);
  const std::optional<ReadSample> again = Take();
  REQUIRE(again.has_value());
  CHECK_FALSE(again->lost);
  CHECK(batch_cache_.pool().Counts().filling == 1);
  CHECK(progress_.Finish(*again, 0) == nullptr);
  CHECK(progress_.samples_to_decode() == 0);
  CHECK(prefetcher_.Snapshot().bytes_in_flight == 0);
  UNSCOPED_INFO("the last sample frees the slot");
  CHECK(batch_cache_.pool().Counts().filling == 0);
}

}  // namespace
}  // namespace forebay::stream
