#include "client/wire/pipeline_codec.h"

#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::wire {
namespace {

using tests::ElementsAre;
using tests::IsOk;

// Returns the spec that protobuf reads in the encoder's bytes.
proto::PipelineSpec Parse(const PipelineEncoder& encoder) {
  proto::PipelineSpec spec;
  CHECK(spec.ParseFromString(encoder.bytes()));
  return spec;
}

TEST_CASE("An encoded empty pipeline has no ops", "[wire][pipeline_codec]") {
  CHECK(Parse(PipelineEncoder()).ops_size() == 0);
}

TEST_CASE("A pipeline's geometry ops arrive in order",
          "[wire][pipeline_codec]") {
  PipelineEncoder encoder;
  REQUIRE_THAT(encoder.AddResize(256, 0, 512, FOREBAY_BICUBIC), IsOk());
  REQUIRE_THAT(encoder.AddCenterCrop(224, 200), IsOk());
  REQUIRE_THAT(encoder.AddRandomResizedCrop(96, 97, {0.08, 1.0}, {0.75, 1.5},
                                            FOREBAY_BILINEAR),
               IsOk());
  REQUIRE_THAT(encoder.AddRandomHorizontalFlip(0.25), IsOk());
  REQUIRE_THAT(encoder.AddRandomVerticalFlip(0.75), IsOk());
  REQUIRE_THAT(encoder.AddResize(32, 33, 0, FOREBAY_BILINEAR_ALIASED), IsOk());

  const proto::PipelineSpec spec = Parse(encoder);
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
          "[wire][pipeline_codec]") {
  const double fill[] = {1, 2, 3};
  forebay_padding padding = {1, 2, 3, 4, fill, 3, FOREBAY_PAD_REFLECT};
  PipelineEncoder encoder;
  REQUIRE_THAT(encoder.AddPad(&padding), IsOk());
  REQUIRE_THAT(encoder.AddRandomCrop(32, 33, &padding, true), IsOk());
  REQUIRE_THAT(encoder.AddRandomCrop(32, 33, nullptr, false), IsOk());

  const proto::PipelineSpec spec = Parse(encoder);
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
          "[wire][pipeline_codec]") {
  const forebay_range brightness = {0.5, 1.5};
  const forebay_range hue = {-0.1, 0.2};
  const double mean[] = {0.485, 0.456, 0.406};
  const double std[] = {0.229};
  PipelineEncoder encoder;
  REQUIRE_THAT(encoder.AddColorJitter(&brightness, nullptr, nullptr, &hue),
               IsOk());
  REQUIRE_THAT(encoder.AddGrayscale(3), IsOk());
  REQUIRE_THAT(encoder.AddToImage(FOREBAY_NHWC), IsOk());
  REQUIRE_THAT(encoder.AddToDtype(FOREBAY_BFLOAT16, true), IsOk());
  REQUIRE_THAT(encoder.AddNormalize(mean, 3, std, 1), IsOk());

  const proto::PipelineSpec spec = Parse(encoder);
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

TEST_CASE("A pipeline's user code arrives as the client encodes it",
          "[wire][pipeline_codec]") {
  const uint64_t shape[] = {8, 6, 3};
  PipelineEncoder encoder;
  encoder.AddUserCode("0123456789abcdef", FOREBAY_INT16, shape, 3, true);
  encoder.AddUserCode("fedcba9876543210", FOREBAY_UINT8, nullptr, 0, false);

  const proto::PipelineSpec spec = Parse(encoder);
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
          "[wire][pipeline_codec]") {
  PipelineEncoder array;
  const int64_t stop = -3;
  const uint32_t order[] = {2, 0, 1};
  const double numbers[] = {1, 2};
  array.AddSlice(-70000000000, &stop, -1);
  array.AddSlice(4, nullptr, 0);
  REQUIRE_THAT(array.AddRandomWindow(1ULL << 40, 1, true), IsOk());
  REQUIRE_THAT(array.AddTranspose(order, 3), IsOk());
  REQUIRE_THAT(array.AddToDtype(FOREBAY_UINT64, false), IsOk());
  REQUIRE_THAT(array.AddNormalize(numbers, 2, numbers, 1, -2), IsOk());
  PipelineEncoder encoder;
  encoder.AddArray("npy", array);
  REQUIRE_THAT(encoder.AddCenterCrop(2, 3), IsOk());
  encoder.AddArray("x.npy", PipelineEncoder());

  const proto::PipelineSpec spec = Parse(encoder);
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
          "[wire][pipeline_codec]") {
  PipelineEncoder encoder;
  encoder.AddDecode(true);
  encoder.AddExifTranspose();
  encoder.AddDecode(false);
  const proto::PipelineSpec spec = Parse(encoder);
  REQUIRE(spec.ops_size() == 3);
  CHECK(spec.ops(0).decode().scaled());
  CHECK(spec.ops(1).has_exif_transpose());
  CHECK(spec.ops(2).has_decode());
  CHECK_FALSE(spec.ops(2).decode().scaled());
}

TEST_CASE("The pipeline codec refuses what it cannot write",
          "[wire][pipeline_codec]") {
  PipelineEncoder encoder;
  const double one = 1;
  forebay_padding padding = {};
  CHECK(
      encoder.AddResize(1, 1, 0, static_cast<forebay_interpolation>(9)).code ==
      FOREBAY_INVALID_ARGUMENT);
  CHECK(encoder.AddPad(nullptr).code == FOREBAY_INVALID_ARGUMENT);
  CHECK(encoder.AddPad(&padding).code == FOREBAY_INVALID_ARGUMENT);
  CHECK(encoder.AddNormalize(nullptr, 3, &one, 1).code ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(encoder.AddToDtype(static_cast<forebay_dtype>(0), false).code ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(encoder.AddToImage(static_cast<forebay_layout>(3)).code ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(encoder.AddRandomWindow(0, 0, false).code == FOREBAY_INVALID_ARGUMENT);
  CHECK(encoder.AddTranspose(nullptr, 2).code == FOREBAY_INVALID_ARGUMENT);
  CHECK(encoder.bytes().empty());
}

}  // namespace
}  // namespace forebay::client::wire
