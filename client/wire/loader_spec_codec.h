#ifndef FOREBAY_CLIENT_WIRE_LOADER_SPEC_CODEC_H_
#define FOREBAY_CLIENT_WIRE_LOADER_SPEC_CODEC_H_

#include <string>
#include <string_view>

#include "client/forebay.h"

namespace forebay::client::wire {

// The GPU on which batches are to lie.
struct Placement {
  std::string gpu_uuid;   // empty: none
  bool finished = false;  // whether images come finished
};

// A serialized proto.SamplerSpec.
std::string EncodeSamplerSpec(const forebay_loader_options& options);

// A serialized proto.LoaderSpec; `dataset` and `pipeline` are a serialized
// proto.DatasetSpec and proto.PipelineSpec.
std::string EncodeLoaderSpec(const forebay_loader_options& options,
                             std::string_view dataset,
                             std::string_view pipeline,
                             const Placement& placement);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_LOADER_SPEC_CODEC_H_
