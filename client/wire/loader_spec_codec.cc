#include "client/wire/loader_spec_codec.h"

#include <protozero/pbf_builder.hpp>

namespace forebay::client::wire {
namespace {

using Tag = protozero::pbf_tag_type;

// Field numbers of proto.LoaderSpec and its parts in proto/job.proto. The
// options' enums have the values of the messages' enums.
enum class SpecTag : Tag {
  kDataset = 1,
  kSampler = 2,
  kPipeline = 3,
  kBatch = 4,
  kName = 5,
  kSharing = 6,
  kPlacement = 7,
};
enum class PlacementTag : Tag { kGpuUuid = 1, kFinished = 2 };
enum class SamplerTag : Tag {
  kOrder = 1,
  kSeed = 2,
  kRank = 3,
  kWorldSize = 4,
  kPad = 5,
  kByLength = 7,
  kLengthField = 8,
};
enum class BatchTag : Tag {
  kBatchSize = 1,
  kDropLast = 2,
  kOnError = 3,
  kDepth = 4,
  kMaxLength = 5,
  kPadded = 6,
  kMaxSeconds = 7,
};

using SpecBuilder = protozero::pbf_builder<SpecTag>;

// Writes the order of samples. The message's field `pad` is the option
// `uneven`.
void WriteSampler(protozero::pbf_builder<SamplerTag>& sampler,
                  const forebay_loader_options& options) {
  sampler.add_enum(SamplerTag::kOrder, options.order);
  sampler.add_uint64(SamplerTag::kSeed, options.seed);
  sampler.add_uint32(SamplerTag::kRank, options.rank);
  sampler.add_uint32(SamplerTag::kWorldSize, options.world_size);
  sampler.add_enum(SamplerTag::kPad, options.uneven);
  if (options.by_length != 0) sampler.add_bool(SamplerTag::kByLength, true);
  if (options.length_field != nullptr)
    sampler.add_bytes(SamplerTag::kLengthField, options.length_field);
}

void WriteBatch(SpecBuilder& spec, const forebay_loader_options& options) {
  protozero::pbf_builder<BatchTag> batch(spec, SpecTag::kBatch);
  batch.add_uint32(BatchTag::kBatchSize, options.batch_size);
  batch.add_bool(BatchTag::kDropLast, options.drop_last != 0);
  batch.add_enum(BatchTag::kOnError, options.on_error);
  batch.add_uint32(BatchTag::kDepth, options.depth);
  if (options.max_length != 0)
    batch.add_uint64(BatchTag::kMaxLength, options.max_length);
  if (options.max_seconds != 0)
    batch.add_double(BatchTag::kMaxSeconds, options.max_seconds);
  if (options.max_length != 0 || options.max_seconds != 0)
    batch.add_bool(BatchTag::kPadded, options.padded != 0);
}

}  // namespace

std::string EncodeSamplerSpec(const forebay_loader_options& options) {
  std::string bytes;
  protozero::pbf_builder<SamplerTag> sampler(bytes);
  WriteSampler(sampler, options);
  return bytes;
}

std::string EncodeLoaderSpec(const forebay_loader_options& options,
                             std::string_view dataset,
                             std::string_view pipeline,
                             const Placement& placement) {
  std::string bytes;
  SpecBuilder spec(bytes);
  spec.add_message(SpecTag::kDataset, dataset.data(), dataset.size());
  {
    protozero::pbf_builder<SamplerTag> sampler(spec, SpecTag::kSampler);
    WriteSampler(sampler, options);
  }
  spec.add_message(SpecTag::kPipeline, pipeline.data(), pipeline.size());
  WriteBatch(spec, options);
  if (options.name != nullptr) spec.add_string(SpecTag::kName, options.name);
  spec.add_enum(SpecTag::kSharing, options.sharing);
  if (!placement.gpu_uuid.empty()) {
    protozero::pbf_builder<PlacementTag> gpu(spec, SpecTag::kPlacement);
    gpu.add_string(PlacementTag::kGpuUuid, placement.gpu_uuid);
    gpu.add_bool(PlacementTag::kFinished, placement.finished);
  }
  return bytes;
}

}  // namespace forebay::client::wire
