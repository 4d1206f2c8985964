#include "client/wire/loader_spec_codec.h"

#include "client/wire/dataset_codec.h"
#include "client/wire/session_codec.h"
#include "proto/session.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::wire {
namespace {

using tests::ElementsAre;

proto::ClientMessage Parse(const std::string& bytes) {
  proto::ClientMessage message;
  CHECK(message.ParseFromString(bytes));
  return message;
}

TEST_CASE("A loader spec arrives as the client encodes it",
          "[wire][loader_spec_codec]") {
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
  proto::PipelineSpec pipeline;
  pipeline.add_ops()->mutable_resize()->set_height(224);

  const proto::ClientMessage message = Parse(EncodeOpenLoader(
      9, EncodeLoaderSpec(options,
                          EncodeLocation(options, {.uri = "/data/train",
                                                   .folder = {},
                                                   .shards = {},
                                                   .manifest = {}}),
                          pipeline.SerializeAsString(),
                          {.gpu_uuid = "a-gpu", .finished = true})));
  CHECK(message.request_id() == 9);
  CHECK_FALSE(message.open_loader().spec_in_memfd());
  const proto::LoaderSpec& spec = message.open_loader().spec();
  CHECK(spec.dataset().uri() == "/data/train");
  CHECK(spec.dataset().format() == proto::DatasetSpec::IMAGE_FOLDER);
  CHECK(spec.dataset().extra_roots() == 2);
  CHECK_THAT(spec.dataset().extra_root_paths(), ElementsAre("/a", "/b"));
  CHECK(spec.sampler().order() == proto::SamplerSpec::SHUFFLE);
  CHECK(spec.sampler().seed() == 0xFFFFFFFFFFFFFFFFu);
  CHECK(spec.sampler().rank() == 3);
  CHECK(spec.sampler().world_size() == 8);
  CHECK(spec.sampler().pad() == proto::SamplerSpec::NONE);
  CHECK(spec.pipeline().ops(0).resize().height() == 224);
  CHECK(spec.batch().batch_size() == 256);
  CHECK(spec.batch().drop_last());
  CHECK(spec.batch().on_error() == proto::BatchSpec::SUBSTITUTE);
  CHECK(spec.batch().depth() == 4);
  CHECK(spec.name() == "train");
  CHECK(spec.placement().gpu_uuid() == "a-gpu");
  CHECK(spec.placement().finished());
}

TEST_CASE("Lengths arrive in a loader spec if they are asked for",
          "[wire][loader_spec_codec]") {
  forebay_loader_options options = {};
  options.max_length = 1000;
  options.padded = 1;
  options.by_length = 1;
  options.length_field = "tokens";
  const auto spec_of = [&] {
    return Parse(EncodeOpenLoader(1, EncodeLoaderSpec(options, "", "", {})))
        .open_loader()
        .spec();
  };
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
