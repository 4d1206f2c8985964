#include "server/job/placement.h"

#include <utility>

#include "absl/status/status.h"
#include "server/base/status.h"

namespace forebay::job {

absl::StatusOr<Placement> PlaceFor(const proto::LoaderSpec& spec,
                                   device::DeviceDirectory* devices,
                                   const std::stop_token& stop) {
  Placement placement;
  if (!spec.has_placement()) return placement;
  if (spec.placement().gpu_uuid().empty())
    return absl::InvalidArgumentError("a placement names a GPU");
  if (devices == nullptr) {
    placement.refusal = "the daemon serves no GPUs";
    return placement;
  }
  auto device = devices->Find(spec.placement().gpu_uuid(), stop);
  if (device.ok()) {
    placement.device = *std::move(device);
  } else if (absl::IsNotFound(device.status()) ||
             absl::IsUnavailable(device.status())) {
    placement.refusal = std::string(device.status().message());
  } else {
    return device.status();
  }
  return placement;
}

proto::PipelineSpec WithoutTail(const proto::PipelineSpec& spec) {
  proto::PipelineSpec before;
  for (const proto::Op& op : spec.ops()) {
    if (!op.has_normalize() && !op.has_to_dtype() && !op.has_to_image())
      *before.add_ops() = op;
  }
  before.add_ops()->mutable_to_image()->set_layout(proto::ToImage::NHWC);
  return before;
}

}  // namespace forebay::job
