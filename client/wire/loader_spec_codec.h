#ifndef FOREBAY_CLIENT_WIRE_LOADER_SPEC_CODEC_H_
#define FOREBAY_CLIENT_WIRE_LOADER_SPEC_CODEC_H_

#include <string>
#include <string_view>

#include "client/forebay.h"

namespace forebay::client::wire {

// The GPU on which batches are to lie.
struct Placement {
  std::string gpu_uuid;  // empty: on the host
  // Whether the daemon finishes images, as this GPU cannot run their tail.
  bool finished = false;
};

// Returns a serialized proto.SamplerSpec. Thread-safe; never blocks or fails.
std::string EncodeSamplerSpec(const forebay_loader_options& options);

// Returns a serialized proto.LoaderSpec. `dataset` and `pipeline` are a
// serialized proto.DatasetSpec and proto.PipelineSpec. Thread-safe; never
// blocks or fails.
std::string EncodeLoaderSpec(const forebay_loader_options& options,
                             std::string_view dataset,
                             std::string_view pipeline,
                             const Placement& placement);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_LOADER_SPEC_CODEC_H_
