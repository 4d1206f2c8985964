#include "client/wire/loader_spec_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/wire/dataset_codec.h"
#include "client/wire/session_codec.h"
#include "proto/session.pb.h"

namespace forebay::client::wire {
namespace {

using ::testing::ElementsAre;

proto::ClientMessage Parse(const std::string& bytes) {
  proto::ClientMessage message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

TEST(LoaderSpecCodecTest, LoaderSpecArrives) {
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
  EXPECT_EQ(message.request_id(), 9);
  EXPECT_FALSE(message.open_loader().spec_in_memfd());
  const proto::LoaderSpec& spec = message.open_loader().spec();
  EXPECT_EQ(spec.dataset().uri(), "/data/train");
  EXPECT_EQ(spec.dataset().format(), proto::DatasetSpec::IMAGE_FOLDER);
  EXPECT_EQ(spec.dataset().extra_roots(), 2);
  EXPECT_THAT(spec.dataset().extra_root_paths(), ElementsAre("/a", "/b"));
  EXPECT_EQ(spec.sampler().order(), proto::SamplerSpec::SHUFFLE);
  EXPECT_EQ(spec.sampler().seed(), 0xFFFFFFFFFFFFFFFFu);
  EXPECT_EQ(spec.sampler().rank(), 3);
  EXPECT_EQ(spec.sampler().world_size(), 8);
  EXPECT_EQ(spec.sampler().pad(), proto::SamplerSpec::NONE);
  EXPECT_EQ(spec.pipeline().ops(0).resize().height(), 224);
  EXPECT_EQ(spec.batch().batch_size(), 256);
  EXPECT_TRUE(spec.batch().drop_last());
  EXPECT_EQ(spec.batch().on_error(), proto::BatchSpec::SUBSTITUTE);
  EXPECT_EQ(spec.batch().depth(), 4);
  EXPECT_EQ(spec.name(), "train");
  EXPECT_EQ(spec.placement().gpu_uuid(), "a-gpu");
  EXPECT_TRUE(spec.placement().finished());
}

TEST(LoaderSpecCodecTest, LengthsArriveIfTheyAreAskedFor) {
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
  EXPECT_EQ(spec.batch().max_length(), 1000u);
  EXPECT_TRUE(spec.batch().padded());
  EXPECT_TRUE(spec.sampler().by_length());
  EXPECT_EQ(spec.sampler().length_field(), "tokens");
  options.max_length = 0;
  options.max_seconds = 2.5;
  EXPECT_EQ(spec_of().batch().max_length(), 0u);
  EXPECT_EQ(spec_of().batch().max_seconds(), 2.5);
  EXPECT_TRUE(spec_of().batch().padded());
  options = {};
  EXPECT_EQ(spec_of().batch().max_length(), 0u);
  EXPECT_EQ(spec_of().batch().max_seconds(), 0);
  EXPECT_FALSE(spec_of().sampler().by_length());
}

}  // namespace
}  // namespace forebay::client::wire
