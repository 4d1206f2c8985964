#ifndef FOREBAY_SERVER_JOB_PLACEMENT_H_
#define FOREBAY_SERVER_JOB_PLACEMENT_H_

#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/device/device.h"
#include "server/device/device_directory.h"

namespace forebay::job {

// Where a loader's batches lie.
struct Placement {
  std::shared_ptr<device::Device> device;  // null: on the host
  // Why they lie on the host although the spec asked for a GPU; else empty.
  std::string refusal;
};

// Finds the place that a spec asks for. Blocks while a GPU is opened. Errors:
// those of DeviceDirectory::Find that are faults; its refusals are placements.
absl::StatusOr<Placement> PlaceFor(const proto::LoaderSpec& spec,
                                   device::DeviceDirectory* devices,
                                   const std::stop_token& stop);

// The pipeline without the ops of its tail (server/pipeline/tail.h).
proto::PipelineSpec WithoutTail(const proto::PipelineSpec& spec);

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_PLACEMENT_H_
