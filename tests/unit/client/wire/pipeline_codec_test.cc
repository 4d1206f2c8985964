#include "client/wire/pipeline_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/job.pb.h"

namespace forebay::client::wire {
namespace {

using ::testing::ElementsAre;

// Returns the spec that protobuf reads in the encoder's bytes.
proto::PipelineSpec Parse(const PipelineEncoder& encoder) {
  proto::PipelineSpec spec;
  EXPECT_TRUE(spec.ParseFromString(encoder.bytes()));
  return spec;
}

TEST(PipelineCodecTest, EmptyPipelineHasNoOps) {
  EXPECT_EQ(Parse(PipelineEncoder()).ops_size(), 0);
}

TEST(PipelineCodecTest, GeometryArrivesInOrder) {
  PipelineEncoder encoder;
  ASSERT_TRUE(encoder.AddResize(256, 0, 512, FOREBAY_BICUBIC).ok());
  ASSERT_TRUE(encoder.AddCenterCrop(224, 200).ok());
  ASSERT_TRUE(encoder
                  .AddRandomResizedCrop(96, 97, {0.08, 1.0}, {0.75, 1.5},
                                        FOREBAY_BILINEAR)
                  .ok());
  ASSERT_TRUE(encoder.AddRandomHorizontalFlip(0.25).ok());
  ASSERT_TRUE(encoder.AddRandomVerticalFlip(0.75).ok());
  ASSERT_TRUE(encoder.AddResize(32, 33, 0, FOREBAY_BILINEAR_ALIASED).ok());

  const proto::PipelineSpec spec = Parse(encoder);
  ASSERT_EQ(spec.ops_size(), 6);
  EXPECT_EQ(spec.ops(5).resize().interpolation(), proto::BILINEAR_ALIASED);
  EXPECT_EQ(spec.ops(0).resize().height(), 256);
  EXPECT_EQ(spec.ops(0).resize().width(), 0);
  EXPECT_EQ(spec.ops(0).resize().max_size(), 512);
  EXPECT_EQ(spec.ops(0).resize().interpolation(), proto::BICUBIC);
  EXPECT_EQ(spec.ops(1).center_crop().height(), 224);
  EXPECT_EQ(spec.ops(1).center_crop().width(), 200);
  const proto::RandomResizedCrop& crop = spec.ops(2).random_resized_crop();
  EXPECT_EQ(crop.height(), 96);
  EXPECT_EQ(crop.width(), 97);
  EXPECT_EQ(crop.scale_min(), 0.08);
  EXPECT_EQ(crop.scale_max(), 1.0);
  EXPECT_EQ(crop.ratio_min(), 0.75);
  EXPECT_EQ(crop.ratio_max(), 1.5);
  EXPECT_EQ(crop.interpolation(), proto::BILINEAR);
  EXPECT_EQ(spec.ops(3).random_horizontal_flip().p(), 0.25);
  EXPECT_EQ(spec.ops(4).random_vertical_flip().p(), 0.75);
}

TEST(PipelineCodecTest, PaddingArrives) {
  const double fill[] = {1, 2, 3};
  forebay_padding padding = {1, 2, 3, 4, fill, 3, FOREBAY_PAD_REFLECT};
  PipelineEncoder encoder;
  ASSERT_TRUE(encoder.AddPad(&padding).ok());
  ASSERT_TRUE(encoder.AddRandomCrop(32, 33, &padding, true).ok());
  ASSERT_TRUE(encoder.AddRandomCrop(32, 33, nullptr, false).ok());

  const proto::PipelineSpec spec = Parse(encoder);
  ASSERT_EQ(spec.ops_size(), 3);
  const proto::Padding& pad = spec.ops(0).pad().padding();
  EXPECT_EQ(pad.left(), 1);
  EXPECT_EQ(pad.top(), 2);
  EXPECT_EQ(pad.right(), 3);
  EXPECT_EQ(pad.bottom(), 4);
  EXPECT_THAT(pad.fill(), ElementsAre(1, 2, 3));
  EXPECT_EQ(pad.mode(), proto::REFLECT);
  EXPECT_EQ(spec.ops(1).random_crop().height(), 32);
  EXPECT_EQ(spec.ops(1).random_crop().width(), 33);
  EXPECT_EQ(spec.ops(1).random_crop().padding().bottom(), 4);
  EXPECT_TRUE(spec.ops(1).random_crop().pad_if_needed());
  EXPECT_FALSE(spec.ops(2).random_crop().has_padding());
}

TEST(PipelineCodecTest, ColourAndTypesArrive) {
  const forebay_range brightness = {0.5, 1.5};
  const forebay_range hue = {-0.1, 0.2};
  const double mean[] = {0.485, 0.456, 0.406};
  const double std[] = {0.229};
  PipelineEncoder encoder;
  ASSERT_TRUE(encoder.AddColorJitter(&brightness, nullptr, nullptr, &hue).ok());
  ASSERT_TRUE(encoder.AddGrayscale(3).ok());
  ASSERT_TRUE(encoder.AddToImage(FOREBAY_NHWC).ok());
  ASSERT_TRUE(encoder.AddToDtype(FOREBAY_BFLOAT16, true).ok());
  ASSERT_TRUE(encoder.AddNormalize(mean, 3, std, 1).ok());

  const proto::PipelineSpec spec = Parse(encoder);
  ASSERT_EQ(spec.ops_size(), 5);
  const proto::ColorJitter& jitter = spec.ops(0).color_jitter();
  EXPECT_EQ(jitter.brightness().min(), 0.5);
  EXPECT_EQ(jitter.brightness().max(), 1.5);
  EXPECT_FALSE(jitter.has_contrast());
  EXPECT_FALSE(jitter.has_saturation());
  EXPECT_EQ(jitter.hue().min(), -0.1);
  EXPECT_EQ(spec.ops(1).grayscale().num_output_channels(), 3);
  EXPECT_EQ(spec.ops(2).to_image().layout(), proto::ToImage::NHWC);
  EXPECT_EQ(spec.ops(3).to_dtype().dtype(), proto::BFLOAT16);
  EXPECT_TRUE(spec.ops(3).to_dtype().scale());
  EXPECT_THAT(spec.ops(4).normalize().mean(), ElementsAre(0.485, 0.456, 0.406));
  EXPECT_THAT(spec.ops(4).normalize().std(), ElementsAre(0.229));
}

TEST(PipelineCodecTest, UserCodeArrives) {
  const uint64_t shape[] = {8, 6, 3};
  PipelineEncoder encoder;
  encoder.AddUserCode("0123456789abcdef", FOREBAY_INT16, shape, 3, true);
  encoder.AddUserCode("fedcba9876543210", FOREBAY_UINT8, nullptr, 0, false);

  const proto::PipelineSpec spec = Parse(encoder);
  ASSERT_EQ(spec.ops_size(), 2);
  const proto::UserCode& code = spec.ops(0).user_code();
  EXPECT_EQ(code.identity(), "0123456789abcdef");
  EXPECT_EQ(code.dtype(), proto::INT16);
  EXPECT_THAT(code.shape(), ElementsAre(8, 6, 3));
  EXPECT_TRUE(code.finished());
  EXPECT_FALSE(spec.ops(1).user_code().finished());
  EXPECT_EQ(spec.ops(1).user_code().shape_size(), 0);
}

TEST(PipelineCodecTest, OpsOfArraysArrive) {
  PipelineEncoder array;
  const int64_t stop = -3;
  const uint32_t order[] = {2, 0, 1};
  const double numbers[] = {1, 2};
  array.AddSlice(-70000000000, &stop, -1);
  array.AddSlice(4, nullptr, 0);
  ASSERT_TRUE(array.AddRandomWindow(1ULL << 40, 1, true).ok());
  ASSERT_TRUE(array.AddTranspose(order, 3).ok());
  ASSERT_TRUE(array.AddToDtype(FOREBAY_UINT64, false).ok());
  ASSERT_TRUE(array.AddNormalize(numbers, 2, numbers, 1, -2).ok());
  PipelineEncoder encoder;
  encoder.AddArray("npy", array);
  ASSERT_TRUE(encoder.AddCenterCrop(2, 3).ok());
  encoder.AddArray("x.npy", PipelineEncoder());

  const proto::PipelineSpec spec = Parse(encoder);
  EXPECT_EQ(spec.ops_size(), 1);
  ASSERT_EQ(spec.fields_size(), 2);
  EXPECT_EQ(spec.fields(1).field(), "x.npy");
  EXPECT_EQ(spec.fields(1).ops_size(), 0);
  const proto::FieldPipeline& ops = spec.fields(0);
  EXPECT_EQ(ops.field(), "npy");
  ASSERT_EQ(ops.ops_size(), 6);
  EXPECT_EQ(ops.ops(0).slice().start(), -70000000000);
  EXPECT_EQ(ops.ops(0).slice().stop(), -3);
  EXPECT_EQ(ops.ops(0).slice().axis(), -1);
  EXPECT_FALSE(ops.ops(1).slice().has_stop());
  EXPECT_EQ(ops.ops(2).random_window().length(), 1ULL << 40);
  EXPECT_EQ(ops.ops(2).random_window().axis(), 1);
  EXPECT_TRUE(ops.ops(2).random_window().pad_if_needed());
  EXPECT_THAT(ops.ops(3).transpose().order(), ElementsAre(2, 0, 1));
  EXPECT_EQ(ops.ops(4).to_dtype().dtype(), proto::UINT64);
  EXPECT_EQ(ops.ops(5).normalize().axis(), -2);
  EXPECT_THAT(ops.ops(5).normalize().mean(), ElementsAre(1, 2));
}

TEST(PipelineCodecTest, HowImagesAreDecodedArrives) {
  PipelineEncoder encoder;
  encoder.AddDecode(true);
  encoder.AddExifTranspose();
  encoder.AddDecode(false);
  const proto::PipelineSpec spec = Parse(encoder);
  ASSERT_EQ(spec.ops_size(), 3);
  EXPECT_TRUE(spec.ops(0).decode().scaled());
  EXPECT_TRUE(spec.ops(1).has_exif_transpose());
  EXPECT_TRUE(spec.ops(2).has_decode());
  EXPECT_FALSE(spec.ops(2).decode().scaled());
}

TEST(PipelineCodecTest, RefusesWhatItCannotWrite) {
  PipelineEncoder encoder;
  const double one = 1;
  forebay_padding padding = {};
  EXPECT_EQ(
      encoder.AddResize(1, 1, 0, static_cast<forebay_interpolation>(9)).code,
      FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(encoder.AddPad(nullptr).code, FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(encoder.AddPad(&padding).code, FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(encoder.AddNormalize(nullptr, 3, &one, 1).code,
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(encoder.AddToDtype(static_cast<forebay_dtype>(0), false).code,
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(encoder.AddToImage(static_cast<forebay_layout>(3)).code,
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(encoder.AddRandomWindow(0, 0, false).code,
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(encoder.AddTranspose(nullptr, 2).code, FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(encoder.bytes().empty());
}

}  // namespace
}  // namespace forebay::client::wire
