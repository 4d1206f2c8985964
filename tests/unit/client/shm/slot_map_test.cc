// Tests of which mappings of slots outlive an epoch.
#include "client/shm/slot_map.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::shm {
namespace {

using tests::IsOk;

constexpr std::uint64_t kBytes = 8192;

// Memory of a slot, filled with one value.
proto::Fd Slot(std::uint8_t value) {
  proto::Fd fd(memfd_create("test", MFD_CLOEXEC));
  const std::vector<std::uint8_t> bytes(kBytes, value);
  REQUIRE(write(fd.get(), bytes.data(), kBytes) ==
          static_cast<ssize_t>(kBytes));
  return fd;
}

std::vector<proto::Fd> Slots(std::uint8_t first, std::uint8_t second) {
  std::vector<proto::Fd> fds;
  fds.push_back(Slot(first));
  fds.push_back(Slot(second));
  return fds;
}

// A map of two slots, filled with 3 and 4; the second one is leased.
class SlotMapTest {
 protected:
  SlotMapTest() {
    REQUIRE_THAT(map_.Attach(slots_, kBytes), IsOk());
    leased_ = map_.Find(1);
  }

  const std::vector<proto::Fd> slots_ = Slots(3, 4);
  SlotMap map_;
  std::shared_ptr<SlotMapping> leased_;
};

TEST_CASE_METHOD(SlotMapTest, "A slot map shows the memory of each slot",
                 "[shm][slot_map]") {
  REQUIRE(map_.size() == 2);
  CHECK(map_.Find(0)->data()[kBytes - 1] == 3);
  CHECK(map_.Find(1)->data()[0] == 4);
  CHECK(map_.Find(2) == nullptr);
}

TEST_CASE_METHOD(SlotMapTest,
                 "A slot map reuses the mapping of a slot that a lease holds",
                 "[shm][slot_map]") {
  leased_->data()[0] = 9;
  REQUIRE_THAT(map_.Attach(slots_, kBytes), IsOk());
  CHECK(map_.Find(1) == leased_);
  CHECK(map_.Find(1)->data()[0] == 9);
  CHECK(map_.Find(0)->data()[0] == 3);
}

TEST_CASE_METHOD(SlotMapTest,
                 "A slot map maps other memory anew under a held slot's number",
                 "[shm][slot_map]") {
  REQUIRE_THAT(map_.Attach(Slots(5, 6), kBytes), IsOk());
  CHECK(map_.Find(0)->data()[0] == 5);
  CHECK(map_.Find(1)->data()[0] == 6);
  CHECK(leased_->data()[0] == 4);
}

TEST_CASE_METHOD(SlotMapTest,
                 "A slot map maps a held slot anew whose size is another",
                 "[shm][slot_map]") {
  REQUIRE_THAT(map_.Attach(slots_, kBytes / 2), IsOk());
  CHECK(map_.Find(1) != leased_);
  CHECK(map_.Find(1)->bytes() == kBytes / 2);
}

TEST_CASE("A slot map refuses memory that is smaller than its slots",
          "[shm][slot_map]") {
  SlotMap map;
  CHECK(map.Attach(Slots(3, 4), kBytes + 1).code == FOREBAY_INTERNAL);
}

}  // namespace
}  // namespace forebay::client::shm
