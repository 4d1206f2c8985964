#include "server/job/placement.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cuda/fake_driver.h"
#include "proto/job.pb.h"
#include "server/base/clock.h"

namespace forebay::job {
namespace {

constexpr char kOther[] = "00000000-0000-0000-0000-0000000000ff";

class PlacementTest : public ::testing::Test {
 protected:
  static proto::LoaderSpec On(const std::string& uuid) {
    proto::LoaderSpec spec;
    spec.mutable_placement()->set_gpu_uuid(uuid);
    return spec;
  }

  absl::Status driver_status_;
  cuda::FakeDriver driver_{1};
  device::DeviceDirectory devices_{
      [this](const std::stop_token&) -> absl::StatusOr<cuda::Driver*> {
        if (!driver_status_.ok()) return driver_status_;
        return &driver_;
      },
      [](const cuda::DeviceInfo& info) { return info.memory_bytes; },
      base::Clock::Monotonic()};
  const std::string uuid_ = driver_.inventory().devices[0].uuid;
};

TEST_F(PlacementTest, IsTheGpuThatTheSpecNames) {
  const auto place = PlaceFor(On(uuid_), &devices_, {});
  ASSERT_TRUE(place.ok()) << place.status();
  ASSERT_NE(place->device, nullptr);
  EXPECT_EQ(place->device->info().uuid, uuid_);
  EXPECT_EQ(place->refusal, "");
}

TEST_F(PlacementTest, IsTheHostWithoutAWish) {
  const auto place = PlaceFor({}, &devices_, {});
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->device, nullptr);
  EXPECT_EQ(place->refusal, "");
  EXPECT_TRUE(devices_.open().empty());
}

TEST_F(PlacementTest, IsTheHostWhereTheDaemonHasNoSuchGpu) {
  const auto other = PlaceFor(On(kOther), &devices_, {});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->device, nullptr);
  EXPECT_EQ(other->refusal, std::string("the daemon has no GPU ") + kOther);
  EXPECT_EQ(PlaceFor(On(uuid_), nullptr, {})->refusal,
            "the daemon serves no GPUs");
}

TEST_F(PlacementTest, AFaultIsNoReasonForTheHost) {
  driver_status_ = absl::InternalError("the driver is broken");
  EXPECT_EQ(PlaceFor(On(uuid_), &devices_, {}).status(), driver_status_);
  for (const std::string& uuid :
       {std::string(), uuid_ + "0", uuid_.substr(1), std::string(70'000, 'a'),
        std::string(36, '-')}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(PlaceFor(On(uuid), &devices_, {}).status()));
  }
}

TEST_F(PlacementTest, APipelineWithoutItsTailMakesPixels) {
  proto::PipelineSpec spec;
  spec.add_ops()->mutable_center_crop()->set_height(8);
  spec.add_ops()->mutable_to_image()->set_layout(proto::ToImage::NCHW);
  spec.add_ops()->mutable_to_dtype()->set_dtype(proto::FLOAT32);
  spec.add_ops()->mutable_normalize()->add_mean(0.5);
  const proto::PipelineSpec before = WithoutTail(spec);
  ASSERT_EQ(before.ops_size(), 2);
  EXPECT_EQ(before.ops(0).center_crop().height(), 8);
  EXPECT_EQ(before.ops(1).to_image().layout(), proto::ToImage::NHWC);
}

}  // namespace
}  // namespace forebay::job
