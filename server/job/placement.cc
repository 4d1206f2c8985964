#include "server/job/placement.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "server/base/status.h"

namespace forebay::job {
namespace {

// Returns whether a text has 8-4-4-4-12 hexadecimal digits.
bool IsUuid(const std::string& text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(),
                    [](char c, char form) {
                      return form == '-' ? c == '-' : absl::ascii_isxdigit(c);
                    });
}

}  // namespace

absl::StatusOr<Placement> PlaceFor(const proto::LoaderSpec& spec,
                                   device::DeviceDirectory* devices,
                                   const std::stop_token& stop) {
  Placement placement;
  if (!spec.has_placement()) return placement;
  if (!IsUuid(spec.placement().gpu_uuid()))
    return absl::InvalidArgumentError("a placement names no GPU");
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

// Before the tail, batches on a GPU have uint8 NHWC images, whatever layout the
// pipeline asks for. ToImage is therefore replaced.
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
