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

// The memory in which a loader's batches are.
struct Placement {
  std::shared_ptr<device::Device> device;  // null for the host's memory
  // The reason why the host has the batches although the spec asked for a GPU.
  std::string refusal;
};

// Finds the memory that a spec asks for. Thread-safe. Blocks while a GPU is
// opened, until `stop` is requested. If DeviceDirectory::Find returns NOT_FOUND
// or UNAVAILABLE, the GPU cannot be used, and Placement::refusal is set. Other
// errors of Find are returned.
absl::StatusOr<Placement> PlaceFor(const proto::LoaderSpec& spec,
                                   device::DeviceDirectory* devices,
                                   const std::stop_token& stop);

// Returns the pipeline without the ops of its tail (server/pipeline/tail.h).
// The returned pipeline gives images of uint8 in the layout NHWC. Thread-safe;
// never blocks.
proto::PipelineSpec WithoutTail(const proto::PipelineSpec& spec);

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_PLACEMENT_H_
