#include "server/device/device_directory.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "cuda/fake_driver.h"
#include "cuda/no_driver.h"
#include "server/base/clock.h"

namespace forebay::device {
namespace {

constexpr std::int64_t kIdle = 1'000'000'000;

class DeviceDirectoryTest : public ::testing::Test {
 protected:
  std::string UuidOf(int ordinal) {
    return driver_.inventory().devices[static_cast<std::size_t>(ordinal)].uuid;
  }

  base::FakeClock clock_;
  cuda::FakeDriver driver_{2};
  DeviceDirectory directory_{
      [this](const std::stop_token&) -> absl::StatusOr<cuda::Driver*> {
        return &driver_;
      },
      [](const cuda::DeviceInfo& info) { return info.memory_bytes / 32; },
      &clock_};
};

TEST_F(DeviceDirectoryTest, OpensAGpuOnceForAll) {
  const auto first = directory_.Find(UuidOf(1), {});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->info().ordinal, 1);
  EXPECT_EQ((*first)->budget().limit(), (*first)->info().memory_bytes / 32);
  EXPECT_EQ(*directory_.Find(UuidOf(1), {}), *first);
  EXPECT_NE(*directory_.Find(UuidOf(0), {}), *first);
  EXPECT_EQ(directory_.open().size(), 2);
}

TEST_F(DeviceDirectoryTest, ClosesWhatNobodyUses) {
  auto device = *directory_.Find(UuidOf(0), {});
  clock_.Advance(2 * kIdle);
  directory_.CloseIdle(kIdle);
  EXPECT_EQ(directory_.open().size(), 1) << "it is used";
  device.reset();
  directory_.CloseIdle(kIdle);
  EXPECT_EQ(directory_.open().size(), 1) << "it was used until just now";
  clock_.Advance(kIdle);
  directory_.CloseIdle(kIdle);
  EXPECT_TRUE(directory_.open().empty());
  EXPECT_TRUE(directory_.Find(UuidOf(0), {}).ok());
}

TEST_F(DeviceDirectoryTest, SaysWhyThereIsNone) {
  const auto unknown = directory_.Find("no-such-gpu", {});
  EXPECT_TRUE(absl::IsNotFound(unknown.status()));
  EXPECT_EQ(unknown.status().message(), "the daemon has no GPU no-such-gpu");
  cuda::NoDriver none("no plug-in is installed");
  DeviceDirectory empty(
      [&](const std::stop_token&) -> absl::StatusOr<cuda::Driver*> {
        return &none;
      },
      [](const cuda::DeviceInfo&) { return 1; }, &clock_);
  EXPECT_EQ(empty.Find("any", {}).status().message(),
            "the daemon has no GPU: no plug-in is installed");
}

// Opens GPU 0 only once it may.
class HangingDriver final : public cuda::Driver {
 public:
  const cuda::Inventory& inventory() const override {
    return driver_.inventory();
  }
  absl::StatusOr<std::unique_ptr<cuda::Gpu>> Open(int ordinal) override {
    if (ordinal == 0) {
      begun.count_down();
      may_end.wait();
    }
    return driver_.Open(ordinal);
  }

  std::latch begun{1};
  std::latch may_end{1};

 private:
  cuda::FakeDriver driver_{2};
};

TEST(HangingGpuTest, HoldsUpNoOther) {
  base::FakeClock clock;
  HangingDriver driver;
  DeviceDirectory directory(
      [&](const std::stop_token&) -> absl::StatusOr<cuda::Driver*> {
        return &driver;
      },
      [](const cuda::DeviceInfo&) { return 1; }, &clock);
  const auto uuid = [&](std::size_t ordinal) {
    return driver.inventory().devices[ordinal].uuid;
  };
  auto hung = std::async(std::launch::async,
                         [&] { return directory.Find(uuid(0), {}); });
  driver.begun.wait();
  EXPECT_TRUE(directory.Find(uuid(1), {}).ok());
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] {
    return directory.Find(uuid(0), stop.get_token());
  });
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled(waiting.get().status()));
  driver.may_end.count_down();
  const auto opened = hung.get();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(*directory.Find(uuid(0), {}), *opened);
}

}  // namespace
}  // namespace forebay::device
