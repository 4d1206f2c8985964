#include "client/wire/loader_spec.h"

namespace forebay::client::wire {
namespace {

message::BatchSpec MakeBatchSpec(const forebay_loader_options& options) {
  message::BatchSpec batch;
  batch.batch_size = options.batch_size;
  batch.drop_last = options.drop_last != 0;
  batch.on_error = options.on_error;
  batch.depth = options.depth;
  batch.max_length = options.max_length;
  batch.max_seconds = options.max_seconds;
  // `padded` says how lengths count, and has no meaning without a limit.
  const bool is_limited = options.max_length != 0 || options.max_seconds != 0;
  batch.padded = is_limited && options.padded != 0;
  return batch;
}

}  // namespace

// The message's field `pad` is the option `uneven`.
message::SamplerSpec MakeSamplerSpec(const forebay_loader_options& options) {
  message::SamplerSpec sampler;
  sampler.order = options.order;
  sampler.seed = options.seed;
  sampler.rank = options.rank;
  sampler.world_size = options.world_size;
  sampler.pad = options.uneven;
  sampler.by_length = options.by_length != 0;
  if (options.length_field != nullptr)
    sampler.length_field = options.length_field;
  return sampler;
}

message::LoaderSpec MakeLoaderSpec(const forebay_loader_options& options) {
  message::LoaderSpec spec;
  spec.dataset.emplace();
  spec.sampler = MakeSamplerSpec(options);
  spec.pipeline.emplace();
  spec.batch = MakeBatchSpec(options);
  if (options.name != nullptr) spec.name = options.name;
  spec.sharing = options.sharing;
  return spec;
}

}  // namespace forebay::client::wire
