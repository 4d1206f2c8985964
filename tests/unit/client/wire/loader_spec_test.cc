#include "client/wire/loader_spec.h"

#include "client/wire/dataset_spec.h"
#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::wire {
namespace {

using tests::ElementsAre;

// Returns the spec that protobuf parses from the client's bytes.
proto::LoaderSpec Arrived(const message::LoaderSpec& sent) {
  proto::LoaderSpec spec;
  CHECK(spec.ParseFromString(message::Serialize(sent)));
  return spec;
}

TEST_CASE("A loader spec arrives as the client encodes it",
          "[wire][loader_spec]") {
  const char* const extra[] = {"/a", "/b"};
  forebay_loader_options options = {};
  options.uri = "/data/train";
  options.format = FOREBAY_IMAGE_FOLDER;
  options.extra_roots = extra;
  options.extra_root_count = 2;
  options.order = FOREBAY_SHUFFLE;
  options.seed = 0xFFFFFFFFFFFFFFFFu;
  options.rank = 3;
  options.world_size = 8;
  options.uneven = FOREBAY_EACH_ONCE;
  options.batch_size = 256;
  options.drop_last = 1;
  options.on_error = FOREBAY_SUBSTITUTE;
  options.depth = 4;
  options.name = "train";
  message::LoaderSpec sent = MakeLoaderSpec(options);
  CHECK_THAT(
      SpecOfLocation(
          options,
          {.uri = "/data/train", .folder = {}, .files = {}, .manifest = {}},
          &sent.dataset.emplace()),
      tests::IsOk());
  sent.placement = {.gpu_uuid = "a-gpu", .finished = true};
  const proto::LoaderSpec spec = Arrived(sent);
  CHECK(spec.dataset().uri() == "/data/train");
  CHECK(spec.dataset().has_image_folder());
  CHECK(spec.dataset().extra_roots() == 2);
  CHECK_THAT(spec.dataset().extra_root_paths(), ElementsAre("/a", "/b"));
  CHECK(spec.sampler().order() == proto::SamplerSpec::SHUFFLE);
  CHECK(spec.sampler().seed() == 0xFFFFFFFFFFFFFFFFu);
  CHECK(spec.sampler().rank() == 3);
  CHECK(spec.sampler().world_size() == 8);
  CHECK(spec.sampler().pad() == proto::SamplerSpec::NONE);
  CHECK(spec.has_pipeline());
  CHECK(spec.batch().batch_size() == 256);
  CHECK(spec.batch().drop_last());
  CHECK(spec.batch().on_error() == proto::BatchSpec::SUBSTITUTE);
  CHECK(spec.batch().depth() == 4);
  CHECK(spec.name() == "train");
  CHECK(spec.placement().gpu_uuid() == "a-gpu");
  CHECK(spec.placement().finished());
}

TEST_CASE("Lengths arrive in a loader spec if they are asked for",
          "[wire][loader_spec]") {
  forebay_loader_options options = {};
  options.max_length = 1000;
  options.padded = 1;
  options.by_length = 1;
  options.length_field = "tokens";
  const auto spec_of = [&] { return Arrived(MakeLoaderSpec(options)); };
  const proto::LoaderSpec spec = spec_of();
  CHECK(spec.batch().max_length() == 1000u);
  CHECK(spec.batch().padded());
  CHECK(spec.sampler().by_length());
  CHECK(spec.sampler().length_field() == "tokens");
  options.max_length = 0;
  options.max_seconds = 2.5;
  CHECK(spec_of().batch().max_length() == 0u);
  CHECK(spec_of().batch().max_seconds() == 2.5);
  CHECK(spec_of().batch().padded());
  options = {};
  CHECK(spec_of().batch().max_length() == 0u);
  CHECK(spec_of().batch().max_seconds() == 0);
  CHECK_FALSE(spec_of().sampler().by_length());
}

}  // namespace
}  // namespace forebay::client::wire
