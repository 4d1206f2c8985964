#include "server/stream/slot_memory.h"

#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/device/fake_device.h"

namespace forebay::stream {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr SlotSize kSize = {.host = 4096, .device = std::uint64_t{2} << 20};

class SlotMemoryTest {
 protected:
  std::vector<SlotParts> Make(std::uint32_t slots) {
    auto made = SlotMemory::Make(slots, kSize, memory_.attached());
    CHECK_THAT(made, IsOk());
    return *std::move(made);
  }

  bool Add(std::vector<SlotParts> slots) { return memory_.Add(&slots); }

  base::MemoryBudget budget_{20 * kSize.host};
  device::FakeDevice a_{0, 10 * kSize.device};
  device::FakeDevice b_{1, 5 * kSize.device};
  SlotMemory memory_{&budget_, kSize};
};

TEST_CASE_METHOD(SlotMemoryTest, "Slot memory is made without threads",
                 "[stream][slot_memory]") {
  const base::NoThreads none;
  CHECK(Make(3).size() == 3);
}

TEST_CASE_METHOD(SlotMemoryTest,
                 "Slot memory is reserved on the host and on each GPU",
                 "[stream][slot_memory]") {
  REQUIRE_THAT(memory_.Reserve(2), IsOk());
  REQUIRE_THAT(memory_.Join(a_.device), IsOk());
  CHECK(a_.device->budget().used() == 2 * kSize.device);
  REQUIRE_THAT(memory_.Join(b_.device), IsOk());
  REQUIRE_THAT(memory_.Reserve(5), IsOk());
  CHECK(budget_.used() == 5 * kSize.host);
  CHECK(b_.device->budget().used() == 5 * kSize.device);
  const absl::Status refused = memory_.Reserve(6);
  CHECK_THAT(refused, HasCode(absl::StatusCode::kResourceExhausted));
  CAPTURE(refused);
  CHECK_THAT(refused.message(), Contains("GPU 1"));
  UNSCOPED_INFO("nothing is kept");
  CHECK(budget_.used() == 5 * kSize.host);
  CHECK(a_.device->budget().used() == 5 * kSize.device);
  CHECK_FALSE(memory_.ReserveSpare(1));
  memory_.ShrinkTo(1);
  CHECK(a_.device->budget().used() == kSize.device);
  CHECK(memory_.ReserveSpare(1));
  CHECK(memory_.reserved() == 2);
  CHECK(b_.device->budget().used() == 2 * kSize.device);
  CHECK(memory_.Leave(b_.device.get()).empty());
  CHECK(b_.device->budget().used() == 0);
}

TEST_CASE_METHOD(SlotMemoryTest,
                 "A GPU that has no room does not join the slot memory",
                 "[stream][slot_memory]") {
  REQUIRE_THAT(memory_.Reserve(6), IsOk());
  CHECK_THAT(memory_.Join(b_.device),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_FALSE(memory_.IsAttached(b_.device.get()));
  CHECK(b_.device->budget().used() == 0);
}

TEST_CASE_METHOD(SlotMemoryTest,
                 "Every slot has a part on each GPU that is attached",
                 "[stream][slot_memory]") {
  REQUIRE_THAT(memory_.Join(a_.device), IsOk());
  REQUIRE(Add(Make(2)));
  REQUIRE_THAT(memory_.Join(b_.device), IsOk());
  CHECK_FALSE(memory_.IsAttached(b_.device.get()));
  UNSCOPED_INFO("b is not attached yet");
  REQUIRE(Add(Make(1)));
  std::vector<SlotParts> before = Make(1);
  memory_.Attach(b_.device.get(), *SlotMemory::MakeParts(3, kSize, *b_.device));
  const bool is_added = Add(std::move(before));
  UNSCOPED_INFO("it has no part on b");
  CHECK_FALSE(is_added);
  CHECK(memory_.slots() == 3);
  REQUIRE(Add(Make(1)));
  CHECK(memory_.part(a_.device.get(), 3) != nullptr);
  CHECK(memory_.part(b_.device.get(), 3) != nullptr);
  CHECK(b_.gpu->allocated() == 4 * kSize.device);
  CHECK(memory_.RemoveLast().device_parts.size() == 2);
  CHECK(b_.gpu->allocated() == 3 * kSize.device);
}

TEST_CASE_METHOD(SlotMemoryTest,
                 "The parts of slots on a GPU go with its last member",
                 "[stream][slot_memory]") {
  REQUIRE_THAT(memory_.Join(a_.device), IsOk());
  REQUIRE_THAT(memory_.Join(a_.device), IsOk());
  REQUIRE(Add(Make(2)));
  CHECK(memory_.Leave(a_.device.get()).empty());
  CHECK(memory_.IsAttached(a_.device.get()));
  CHECK(memory_.Leave(a_.device.get()).size() == 2);
  CHECK(a_.gpu->allocated() == 0);
  UNSCOPED_INFO("the host's parts stay");
  CHECK(memory_.slots() == 2);
}

}  // namespace
}  // namespace forebay::stream
