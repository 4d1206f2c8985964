#include "server/job/placement.h"

#include <memory>
#include <string>

#include "cuda/fake_driver.h"
#include "proto/job.pb.h"
#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::job {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr char kOther[] = "00000000-0000-0000-0000-0000000000ff";

class PlacementTest {
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

TEST_CASE_METHOD(PlacementTest,
                 "A loader's place is the GPU that its spec names",
                 "[job][placement]") {
  const auto place = PlaceFor(On(uuid_), &devices_, {});
  REQUIRE_THAT(place, IsOk());
  REQUIRE(place->device != nullptr);
  CHECK(place->device->info().uuid == uuid_);
  CHECK_THAT(place->refusal, Catch::Equals(""));
}

TEST_CASE_METHOD(PlacementTest,
                 "A loader's place is the host if its spec names no GPU",
                 "[job][placement]") {
  const auto place = PlaceFor({}, &devices_, {});
  REQUIRE_THAT(place, IsOk());
  CHECK(place->device == nullptr);
  CHECK_THAT(place->refusal, Catch::Equals(""));
  CHECK(devices_.open().empty());
}

TEST_CASE_METHOD(
    PlacementTest,
    "A loader's place is the host where the daemon has no such GPU",
    "[job][placement]") {
  const auto other = PlaceFor(On(kOther), &devices_, {});
  REQUIRE_THAT(other, IsOk());
  CHECK(other->device == nullptr);
  CHECK(other->refusal == std::string("the daemon has no GPU ") + kOther);
  CHECK(PlaceFor(On(uuid_), nullptr, {})->refusal ==
        "the daemon serves no GPUs");
}

TEST_CASE_METHOD(PlacementTest,
                 "A loader's place is not the host because of a fault",
                 "[job][placement]") {
  driver_status_ = absl::InternalError("the driver is broken");
  CHECK(PlaceFor(On(uuid_), &devices_, {}).status() == driver_status_);
  for (const std::string& uuid :
       {std::string(), uuid_ + "0", uuid_.substr(1), std::string(70'000, 'a'),
        std::string(36, '-')}) {
    CHECK_THAT(PlaceFor(On(uuid), &devices_, {}),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST_CASE_METHOD(PlacementTest, "A pipeline without its tail makes pixels",
                 "[job][placement]") {
  proto::PipelineSpec spec;
  spec.add_ops()->mutable_center_crop()->set_height(8);
  spec.add_ops()->mutable_to_image()->set_layout(proto::ToImage::NCHW);
  spec.add_ops()->mutable_to_dtype()->set_dtype(proto::FLOAT32);
  spec.add_ops()->mutable_normalize()->add_mean(0.5);
  const proto::PipelineSpec before = WithoutTail(spec);
  REQUIRE(before.ops_size() == 2);
  CHECK(before.ops(0).center_crop().height() == 8);
  CHECK(before.ops(1).to_image().layout() == proto::ToImage::NHWC);
}

}  // namespace
}  // namespace forebay::job
