#include "client/abi/handles.h"
#include "client/forebay.h"
#include "client/forebay_producer.h"
#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::abi {
namespace {

using tests::ElementsAre;

// Returns the spec that protobuf parses from the pipeline's bytes.
proto::PipelineSpec Parse(const forebay_pipeline& pipeline) {
  proto::PipelineSpec spec;
  CHECK(spec.ParseFromString(message::Serialize(pipeline.spec)));
  return spec;
}

const uint8_t* IdentityOf(const char* text) {
  return reinterpret_cast<const uint8_t*>(text);
}

TEST_CASE("An encoded empty pipeline has no ops", "[abi][forebay_pipeline]") {
  CHECK(Parse(forebay_pipeline()).ops_size() == 0);
}

TEST_CASE("A pipeline's geometry ops arrive in order",
          "[abi][forebay_pipeline]") {
  forebay_pipeline pipeline;
  REQUIRE(forebay_pipeline_add_resize(&pipeline, 256, 0, 512,
                                      FOREBAY_BICUBIC) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_center_crop(&pipeline, 224, 200) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_random_resized_crop(
              &pipeline, 96, 97, {0.08, 1.0}, {0.75, 1.5}, FOREBAY_BILINEAR) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_random_horizontal_flip(&pipeline, 0.25) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_random_vertical_flip(&pipeline, 0.75) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_resize(&pipeline, 32, 33, 0,
                                      FOREBAY_BILINEAR_ALIASED) == FOREBAY_OK);

  const proto::PipelineSpec spec = Parse(pipeline);
  REQUIRE(spec.ops_size() == 6);
  CHECK(spec.ops(5).resize().interpolation() == proto::BILINEAR_ALIASED);
  CHECK(spec.ops(0).resize().height() == 256);
  CHECK(spec.ops(0).resize().width() == 0);
  CHECK(spec.ops(0).resize().max_size() == 512);
  CHECK(spec.ops(0).resize().interpolation() == proto::BICUBIC);
  CHECK(spec.ops(1).center_crop().height() == 224);
  CHECK(spec.ops(1).center_crop().width() == 200);
  const proto::RandomResizedCrop& crop = spec.ops(2).random_resized_crop();
  CHECK(crop.height() == 96);
  CHECK(crop.width() == 97);
  CHECK(crop.scale_min() == 0.08);
  CHECK(crop.scale_max() == 1.0);
  CHECK(crop.ratio_min() == 0.75);
  CHECK(crop.ratio_max() == 1.5);
  CHECK(crop.interpolation() == proto::BILINEAR);
  CHECK(spec.ops(3).random_horizontal_flip().p() == 0.25);
  CHECK(spec.ops(4).random_vertical_flip().p() == 0.75);
}

TEST_CASE("A pipeline's padding arrives as the client encodes it",
          "[abi][forebay_pipeline]") {
  const double fill[] = {1, 2, 3};
  forebay_padding padding = {1, 2, 3, 4, fill, 3, FOREBAY_PAD_REFLECT};
  forebay_pipeline pipeline;
  REQUIRE(forebay_pipeline_add_pad(&pipeline, &padding) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_random_crop(&pipeline, 32, 33, &padding, true) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_random_crop(&pipeline, 32, 33, nullptr, false) ==
          FOREBAY_OK);

  const proto::PipelineSpec spec = Parse(pipeline);
  REQUIRE(spec.ops_size() == 3);
  const proto::Padding& pad = spec.ops(0).pad().padding();
  CHECK(pad.left() == 1);
  CHECK(pad.top() == 2);
  CHECK(pad.right() == 3);
  CHECK(pad.bottom() == 4);
  CHECK_THAT(pad.fill(), ElementsAre(1, 2, 3));
  CHECK(pad.mode() == proto::REFLECT);
  CHECK(spec.ops(1).random_crop().height() == 32);
  CHECK(spec.ops(1).random_crop().width() == 33);
  CHECK(spec.ops(1).random_crop().padding().bottom() == 4);
  CHECK(spec.ops(1).random_crop().pad_if_needed());
  CHECK_FALSE(spec.ops(2).random_crop().has_padding());
}

TEST_CASE("A pipeline's colour and type ops arrive as the client encodes them",
          "[abi][forebay_pipeline]") {
  const forebay_range brightness = {0.5, 1.5};
  const forebay_range hue = {-0.1, 0.2};
  const double mean[] = {0.485, 0.456, 0.406};
  const double std[] = {0.229};
  forebay_pipeline pipeline;
  REQUIRE(forebay_pipeline_add_color_jitter(&pipeline, &brightness, nullptr,
                                            nullptr, &hue) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_grayscale(&pipeline, 3) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_to_image(&pipeline, FOREBAY_NHWC) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_to_dtype(&pipeline, FOREBAY_BFLOAT16, true) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_normalize(&pipeline, mean, 3, std, 1) ==
          FOREBAY_OK);

  const proto::PipelineSpec spec = Parse(pipeline);
  REQUIRE(spec.ops_size() == 5);
  const proto::ColorJitter& jitter = spec.ops(0).color_jitter();
  CHECK(jitter.brightness().min() == 0.5);
  CHECK(jitter.brightness().max() == 1.5);
  CHECK_FALSE(jitter.has_contrast());
  CHECK_FALSE(jitter.has_saturation());
  CHECK(jitter.hue().min() == -0.1);
  CHECK(spec.ops(1).grayscale().num_output_channels() == 3);
  CHECK(spec.ops(2).to_image().layout() == proto::ToImage::NHWC);
  CHECK(spec.ops(3).to_dtype().dtype() == proto::BFLOAT16);
  CHECK(spec.ops(3).to_dtype().scale());
  CHECK_THAT(spec.ops(4).normalize().mean(), ElementsAre(0.485, 0.456, 0.406));
  CHECK_THAT(spec.ops(4).normalize().std(), ElementsAre(0.229));
}

TEST_CASE("A color jitter of nothing adds nothing to a pipeline",
          "[abi][forebay_pipeline]") {
  forebay_pipeline pipeline;
  REQUIRE(forebay_pipeline_add_color_jitter(&pipeline, nullptr, nullptr,
                                            nullptr, nullptr) == FOREBAY_OK);
  CHECK(Parse(pipeline).ops_size() == 0);
}

TEST_CASE("A pipeline's user code arrives as the client encodes it",
          "[abi][forebay_pipeline]") {
  const uint64_t shape[] = {8, 6, 3};
  forebay_pipeline pipeline;
  REQUIRE(forebay_pipeline_add_user_code(
              &pipeline, IdentityOf("0123456789abcdef"), FOREBAY_INT16, shape,
              3, true) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_user_code(
              &pipeline, IdentityOf("fedcba9876543210"), FOREBAY_UINT8, nullptr,
              0, false) == FOREBAY_OK);

  const proto::PipelineSpec spec = Parse(pipeline);
  REQUIRE(spec.ops_size() == 2);
  const proto::UserCode& code = spec.ops(0).user_code();
  CHECK(code.identity() == "0123456789abcdef");
  CHECK(code.dtype() == proto::INT16);
  CHECK_THAT(code.shape(), ElementsAre(8, 6, 3));
  CHECK(code.finished());
  CHECK_FALSE(spec.ops(1).user_code().finished());
  CHECK(spec.ops(1).user_code().shape_size() == 0);
}

TEST_CASE("A pipeline's ops of arrays arrive as the client encodes them",
          "[abi][forebay_pipeline]") {
  forebay_pipeline array;
  const int64_t stop = -3;
  const uint32_t order[] = {2, 0, 1};
  const double numbers[] = {1, 2};
  REQUIRE(forebay_pipeline_add_slice(&array, -70000000000, &stop, -1) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_slice(&array, 4, nullptr, 0) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_random_window(&array, 1ULL << 40, 1, true) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_transpose(&array, order, 3) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_to_dtype(&array, FOREBAY_UINT64, false) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_normalize_axis(&array, numbers, 2, numbers, 1,
                                              -2) == FOREBAY_OK);
  forebay_pipeline pipeline;
  REQUIRE(forebay_pipeline_add_array(&pipeline, "npy", &array) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_center_crop(&pipeline, 2, 3) == FOREBAY_OK);
  const forebay_pipeline empty;
  REQUIRE(forebay_pipeline_add_array(&pipeline, "x.npy", &empty) == FOREBAY_OK);

  const proto::PipelineSpec spec = Parse(pipeline);
  CHECK(spec.ops_size() == 1);
  REQUIRE(spec.fields_size() == 2);
  CHECK(spec.fields(1).field() == "x.npy");
  CHECK(spec.fields(1).ops_size() == 0);
  const proto::FieldPipeline& ops = spec.fields(0);
  CHECK(ops.field() == "npy");
  REQUIRE(ops.ops_size() == 6);
  CHECK(ops.ops(0).slice().start() == -70000000000);
  CHECK(ops.ops(0).slice().stop() == -3);
  CHECK(ops.ops(0).slice().axis() == -1);
  CHECK_FALSE(ops.ops(1).slice().has_stop());
  CHECK(ops.ops(2).random_window().length() == 1ULL << 40);
  CHECK(ops.ops(2).random_window().axis() == 1);
  CHECK(ops.ops(2).random_window().pad_if_needed());
  CHECK_THAT(ops.ops(3).transpose().order(), ElementsAre(2, 0, 1));
  CHECK(ops.ops(4).to_dtype().dtype() == proto::UINT64);
  CHECK(ops.ops(5).normalize().axis() == -2);
  CHECK_THAT(ops.ops(5).normalize().mean(), ElementsAre(1, 2));
}

TEST_CASE("How a pipeline decodes images arrives as the client encodes it",
          "[abi][forebay_pipeline]") {
  forebay_pipeline pipeline;
  REQUIRE(forebay_pipeline_add_decode(&pipeline, true) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_exif_transpose(&pipeline) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_decode(&pipeline, false) == FOREBAY_OK);
  const proto::PipelineSpec spec = Parse(pipeline);
  REQUIRE(spec.ops_size() == 3);
  CHECK(spec.ops(0).decode().scaled());
  CHECK(spec.ops(1).has_exif_transpose());
  CHECK(spec.ops(2).has_decode());
  CHECK_FALSE(spec.ops(2).decode().scaled());
}

TEST_CASE("The functions for ops refuse unknown enums and null pointers",
          "[abi][forebay_pipeline]") {
  forebay_pipeline pipeline;
  const double one = 1;
  forebay_padding padding = {};
  CHECK(forebay_pipeline_add_resize(&pipeline, 1, 1, 0,
                                    static_cast<forebay_interpolation>(9)) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_pad(&pipeline, nullptr) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_pad(&pipeline, &padding) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_normalize(&pipeline, nullptr, 3, &one, 1) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_to_dtype(&pipeline, static_cast<forebay_dtype>(0),
                                      false) == FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_to_image(&pipeline,
                                      static_cast<forebay_layout>(3)) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_random_window(&pipeline, 0, 0, false) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_transpose(&pipeline, nullptr, 2) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(pipeline.spec.ops.empty());
}

TEST_CASE("A serialized op is either added as it is or refused",
          "[abi][forebay_pipeline]") {
  proto::Op op;
  op.mutable_resample()->set_new_freq(16000);
  op.mutable_resample()->set_beta(0);
  const std::string bytes = op.SerializeAsString();
  forebay_pipeline pipeline;
  const auto add = [&](const std::string& text) {
    return forebay_pipeline_add_op(&pipeline, text.data(), text.size());
  };
  REQUIRE(add(bytes) == FOREBAY_OK);
  const proto::PipelineSpec spec = Parse(pipeline);
  REQUIRE(spec.ops_size() == 1);
  CHECK(spec.ops(0).SerializeAsString() == bytes);

  // These texts have no op, an op with an unknown field, a second op that would
  // replace the first, and an op that is cut off.
  CHECK(add("") == FOREBAY_INVALID_ARGUMENT);
  CHECK(add(bytes + std::string({'\x98', '\x3f', 1})) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(add(bytes + bytes) == FOREBAY_INVALID_ARGUMENT);
  CHECK(add(bytes.substr(0, bytes.size() - 1)) == FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_op(&pipeline, nullptr, 0) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(pipeline.spec.ops.size() == 1);
}

}  // namespace
}  // namespace forebay::client::abi
