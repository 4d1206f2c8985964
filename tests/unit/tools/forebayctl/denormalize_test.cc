#include "tools/forebayctl/denormalize.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tests/catch/catch.h"

namespace forebay::ctl {
namespace {

template <typename T>
double Value(T bits, proto::DataType dtype) {
  char data[1 + sizeof(T)];  // the value is misaligned
  std::memcpy(data + 1, &bits, sizeof(bits));
  return LoadValue(data + 1, dtype);
}

TEST_CASE("Denormalization loads values of every type",
          "[forebayctl][denormalize]") {
  CHECK(Value<std::uint8_t>(200, proto::UINT8) == 200);
  CHECK(Value<float>(-1.5f, proto::FLOAT32) == -1.5);
  CHECK(Value<std::int64_t>(-7, proto::INT64) == -7);
  // The bit patterns are those of IEEE 754's binary16.
  CHECK(Value<std::uint16_t>(0x3C00, proto::FLOAT16) == 1);
  CHECK(Value<std::uint16_t>(0xC000, proto::FLOAT16) == -2);
  CHECK(Value<std::uint16_t>(0x7BFF, proto::FLOAT16) == 65504);
  CHECK(Value<std::uint16_t>(0x0001, proto::FLOAT16) == std::ldexp(1, -24));
  CHECK(Value<std::uint16_t>(0x7C00, proto::FLOAT16) == HUGE_VAL);
  CHECK(std::isnan(Value<std::uint16_t>(0x7E00, proto::FLOAT16)));
  CHECK(Value<std::uint16_t>(0x3F80, proto::BFLOAT16) == 1);
  CHECK(Value<std::uint16_t>(0xC040, proto::BFLOAT16) == -3);
}

TEST_CASE("Denormalization without ops takes values as pixels",
          "[forebayctl][denormalize]") {
  const Denormalize denormalize({}, 3);
  CHECK(denormalize.Apply(17, 2) == 17);
  CHECK(denormalize.Apply(-3, 0) == 0);
  CHECK(denormalize.Apply(300, 0) == 255);
  CHECK(denormalize.Apply(std::nan(""), 0) == 0);
  CHECK(denormalize.Apply(std::numeric_limits<double>::infinity(), 0) == 255);
}

TEST_CASE("Denormalization undoes the usual pipeline exactly",
          "[forebayctl][denormalize]") {
  proto::PipelineSpec pipeline;
  proto::ToDtype* to_dtype = pipeline.add_ops()->mutable_to_dtype();
  to_dtype->set_dtype(proto::FLOAT32);
  to_dtype->set_scale(true);
  proto::Normalize* normalize = pipeline.add_ops()->mutable_normalize();
  const double mean[] = {0.485, 0.456, 0.406};
  const double std[] = {0.229, 0.224, 0.225};
  for (int c = 0; c < 3; ++c) {
    normalize->add_mean(mean[c]);
    normalize->add_std(std[c]);
  }
  const Denormalize denormalize(pipeline, 3);
  for (int c = 0; c < 3; ++c) {
    for (int pixel = 0; pixel < 256; ++pixel) {
      const auto value = static_cast<float>((pixel / 255.0 - mean[c]) / std[c]);
      REQUIRE(denormalize.Apply(value, c) == pixel);
    }
  }
}

TEST_CASE(
    "Denormalization undoes unscaled floats and conversions there and back",
    "[forebayctl][denormalize]") {
  proto::PipelineSpec pipeline;
  pipeline.add_ops()->mutable_to_dtype()->set_dtype(proto::FLOAT32);
  proto::Normalize* normalize = pipeline.add_ops()->mutable_normalize();
  normalize->add_mean(128);  // one mean for all channels
  normalize->add_std(64);
  CHECK(Denormalize(pipeline, 3).Apply(-0.5, 1) == 96);

  proto::PipelineSpec there_and_back;
  for (const auto dtype : {proto::FLOAT32, proto::FLOAT16, proto::UINT8}) {
    proto::ToDtype* op = there_and_back.add_ops()->mutable_to_dtype();
    op->set_dtype(dtype);
    op->set_scale(true);
  }
  CHECK(Denormalize(there_and_back, 1).Apply(77, 0) == 77);
}

TEST_CASE("A zero std is not a fault in denormalization",
          "[forebayctl][denormalize]") {
  proto::PipelineSpec pipeline;
  pipeline.add_ops()->mutable_normalize()->add_std(0);
  Denormalize(pipeline, 1).Apply(1, 0);
  SUCCEED("each value has a pixel");
}

}  // namespace
}  // namespace forebay::ctl
