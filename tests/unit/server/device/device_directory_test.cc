#include "server/device/device_directory.h"

#include <future>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "cuda/fake_driver.h"
#include "cuda/no_driver.h"
#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::device {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::int64_t kIdle = 1'000'000'000;

class DeviceDirectoryTest {
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

TEST_CASE_METHOD(DeviceDirectoryTest,
                 "The device directory opens a GPU once for all",
                 "[device][device_directory]") {
  const auto first = directory_.Find(UuidOf(1), {});
  REQUIRE_THAT(first, IsOk());
  CHECK((*first)->info().ordinal == 1);
  CHECK((*first)->budget().limit() == (*first)->info().memory_bytes / 32);
  CHECK(*directory_.Find(UuidOf(1), {}) == *first);
  CHECK(*directory_.Find(UuidOf(0), {}) != *first);
  CHECK(directory_.open().size() == 2);
}

TEST_CASE_METHOD(DeviceDirectoryTest,
                 "The device directory closes a GPU that nobody uses",
                 "[device][device_directory]") {
  auto device = *directory_.Find(UuidOf(0), {});
  clock_.Advance(2 * kIdle);
  directory_.CloseIdle(kIdle);
  UNSCOPED_INFO("it is used");
  CHECK(directory_.open().size() == 1);
  device.reset();
  directory_.CloseIdle(kIdle);
  UNSCOPED_INFO("it was used until just now");
  CHECK(directory_.open().size() == 1);
  clock_.Advance(kIdle);
  directory_.CloseIdle(kIdle);
  CHECK(directory_.open().empty());
  CHECK_THAT(directory_.Find(UuidOf(0), {}), IsOk());
}

TEST_CASE_METHOD(DeviceDirectoryTest,
                 "The device directory says why it has no GPU",
                 "[device][device_directory]") {
  const auto unknown = directory_.Find("no-such-gpu", {});
  CHECK_THAT(unknown, HasCode(absl::StatusCode::kNotFound));
  CHECK(unknown.status().message() == "the daemon has no GPU no-such-gpu");
  cuda::NoDriver none("no plug-in is installed");
  DeviceDirectory empty(
      [&](const std::stop_token&) -> absl::StatusOr<cuda::Driver*> {
        return &none;
      },
      [](const cuda::DeviceInfo&) { return 1; }, &clock_);
  CHECK(empty.Find("any", {}).status().message() ==
        "the daemon has no GPU: no plug-in is installed");
}

// A driver that opens GPU 0 only when the test allows it.
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

TEST_CASE("A GPU that hangs when it is opened holds up no other GPU",
          "[device][device_directory]") {
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
  CHECK_THAT(directory.Find(uuid(1), {}), IsOk());
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] {
    return directory.Find(uuid(0), stop.get_token());
  });
  stop.request_stop();
  CHECK_THAT(waiting.get(), HasCode(absl::StatusCode::kCancelled));
  driver.may_end.count_down();
  const auto opened = hung.get();
  REQUIRE_THAT(opened, IsOk());
  CHECK(*directory.Find(uuid(0), {}) == *opened);
}

}  // namespace
}  // namespace forebay::device
