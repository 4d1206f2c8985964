#include "server/stream/member_memory.h"

#include <cstdint>

#include "server/base/memory_budget.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/device/fake_device.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kHost = 4096;
constexpr std::uint64_t kDevice = 8192;

class MemberMemoryTest {
 protected:
  Member::Terms Terms(std::uint32_t slots) {
    return {.flow = 1, .slots = slots, .device = device_.device};
  }

  device::FakeDevice device_{0};
  base::MemoryBudget budget_{4 * (kHost + kDevice)};
  BatchCache batch_cache_{&budget_, {.host = kHost, .device = kDevice}};
  StagingPool staging_{&budget_, kDevice};
  InFlightBatches in_flight_{{.size = 1}, /*seed=*/1, /*dataset_size=*/10};
  MemberMemory memory_{&batch_cache_, &staging_, &in_flight_};
};

TEST_CASE_METHOD(MemberMemoryTest,
                 "A member that joins reserves slots and staging memory",
                 "[stream][member_memory]") {
  const Member::Terms terms = Terms(3);
  REQUIRE_THAT(memory_.Join(terms), IsOk());
  CHECK(budget_.used() == 3 * (kHost + kDevice));
  CHECK(batch_cache_.memory().attached().size() == 1);
  FreedMemory freed;
  memory_.Leave(terms, &freed);
  CHECK(batch_cache_.memory().attached().empty());
  memory_.Trim(&freed);
  CHECK(budget_.used() == 0);
}

TEST_CASE_METHOD(MemberMemoryTest,
                 "A member that finds no memory reserves nothing",
                 "[stream][member_memory]") {
  REQUIRE_THAT(memory_.Join(Terms(2)), IsOk());
  CHECK_THAT(memory_.Join(Terms(7)),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(budget_.used() == 2 * (kHost + kDevice));
  UNSCOPED_INFO("the memory for slots suffices, but not for staging");
  CHECK_THAT(memory_.Join(Terms(4)),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(budget_.used() == 2 * (kHost + kDevice));
}

TEST_CASE_METHOD(MemberMemoryTest, "A join that is cancelled gives all back",
                 "[stream][member_memory]") {
  const Member::Terms terms = Terms(2);
  REQUIRE_THAT(memory_.Join(terms), IsOk());
  memory_.CancelJoin(terms);
  CHECK(batch_cache_.memory().attached().empty());
  FreedMemory freed;
  memory_.Trim(&freed);
  CHECK(budget_.used() == 0);
}

}  // namespace
}  // namespace forebay::stream
