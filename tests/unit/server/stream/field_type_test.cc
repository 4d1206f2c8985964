#include "server/stream/field_type.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/fake_dataset.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

using proto::FieldKind;

// A dataset whose samples are .npy files. The first file has the given type and
// shape.
class Arrays final : public dataset::FakeDataset {
 public:
  Arrays(std::string_view dtype, std::string_view shape,
         std::uint64_t data_bytes, std::uint64_t shortest,
         std::uint64_t longest)
      : FakeDataset({.size = 2,
                     .fields = {{.name = "npy",
                                 .kind = FieldKind::kArray,
                                 .longest = longest,
                                 .shortest = shortest}}}) {
    const std::string dictionary =
        "{'descr': '" + std::string(dtype) +
        "', 'fortran_order': False, 'shape': " + std::string(shape) + "}";
    first_ = std::string("\x93NUMPY\x01\0", 8);
    first_ += static_cast<char>(dictionary.size());
    first_ += '\0';
    first_ += dictionary + std::string(data_bytes, '\0');
  }

  std::string uri() const override { return "file:///data"; }
  dataset::Sample At(std::uint64_t) const override {
    dataset::Sample sample;
    sample.object = "a";
    return sample;
  }
  void ValuesOf(std::uint64_t,
                absl::Span<dataset::FieldValue> values) const override {
    values[0] = dataset::FieldRange{0, first_.size()};
  }
  absl::Span<const std::uint8_t> first() const {
    return {reinterpret_cast<const std::uint8_t*>(first_.data()),
            first_.size()};
  }

 private:
  std::string first_;
};

absl::StatusOr<std::vector<FieldType>> TypesIn(
    const Arrays& arrays, const FieldPipelines& pipelines) {
  dataset::ValueBuffers buffers;
  return TypesOf(arrays, {}, pipelines, {0, arrays.first()},
                 [&](std::uint64_t bytes) { return buffers.Add(bytes); });
}

FieldType TypeOf(const Arrays& arrays) {
  const auto types = TypesIn(arrays, {});
  CHECK_THAT(types, IsOk());
  return types->front();
}

using Shape = std::vector<std::uint64_t>;

TEST_CASE("Arrays of one size are of one shape", "[stream][field_type]") {
  const FieldType type = TypeOf({"<i2", "(4, 3)", 24, 100, 100});
  CHECK_FALSE(type.varies());
  CHECK(type.value.shape == Shape{4, 3});
  CHECK(type.value.bytes == 24u);
}

TEST_CASE("Arrays of different sizes differ in the first axis",
          "[stream][field_type]") {
  const FieldType type = TypeOf({"<i2", "(0, 3)", 0, 76, 1005});
  CHECK(type.ragged);
  CHECK(type.varies());
  CHECK(type.PlaceFor(proto::Place::kDevice) == proto::Place::kHost);
  // The shape has as many rows as the longest file may have.
  CHECK(type.value.shape == Shape{167, 3});
  CHECK(type.value.bytes == 1002u);
}

FieldPipelines WindowOf(std::string_view field, std::uint64_t length) {
  FieldPipelines pipelines;
  proto::FieldPipeline* const pipeline = pipelines.Add();
  pipeline->set_field(std::string(field));
  pipeline->add_ops()->mutable_random_window()->set_length(length);
  return pipelines;
}

TEST_CASE("A pipeline makes the type of its field", "[stream][field_type]") {
  const Arrays arrays("<i2", "(9, 3)", 54, 76, 1005);
  const auto types = TypesIn(arrays, WindowOf("npy", 5));
  REQUIRE_THAT(types, IsOk());
  CHECK_FALSE(types->front().varies());
  CHECK(types->front().value.shape == Shape{5, 3});
}

TEST_CASE("A pipeline that fits no array field is refused",
          "[stream][field_type]") {
  const Arrays arrays("<i2", "(9, 3)", 54, 76, 1005);
  const auto refusal = [&](const FieldPipelines& pipelines) {
    const absl::Status checked = CheckPipelines(arrays, pipelines);
    if (!checked.ok()) return std::string(checked.message());
    return std::string(TypesIn(arrays, pipelines).status().message());
  };
  CHECK(refusal(WindowOf("mel", 5)) ==
        "transform: there is no field mel; there are: npy");
  CHECK(refusal(WindowOf("npy", 0)) ==
        "file:///data: npy: transform 1 (RandomWindow): length is 0, not 1 "
        "to 1099511627776");
  FieldPipelines two = WindowOf("npy", 5);
  *two.Add() = two[0];
  CHECK(refusal(two) == "transform: npy has two of them");
}

TEST_CASE("Arrays without elements to count are of one shape",
          "[stream][field_type]") {
  for (const char* shape : {"()", "(5, 0)", "(0, 0)"}) {
    const FieldType type =
        TypeOf({"|u1", shape, shape == std::string("()") ? 1u : 0u, 60, 99});
    CAPTURE(shape);
    CHECK_FALSE(type.varies());
  }
  // The shape has more bytes than 64 bits can count.
  const Arrays hostile("<f8", "(0, 4294967296, 4294967296)", 0, 60, 99);
  const auto types = TypesIn(hostile, {});
  if (types.ok()) CHECK_FALSE(types->front().varies());
}

// A dataset of audio files. The first file is a WAV file with 8 bits for each
// value.
class Clips final : public dataset::FakeDataset {
 public:
  Clips(std::uint8_t frames, std::uint64_t longest, std::uint8_t channels = 1)
      : FakeDataset({.size = 2,
                     .fields = {{.name = "audio",
                                 .kind = FieldKind::kAudio,
                                 .longest = longest}}}) {
    const auto bytes = static_cast<char>(frames * channels);
    const auto count = static_cast<char>(channels);
    first_ = std::string("RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0", 22);
    first_ += count + std::string("\0\x40\x1f\0\0\x40\x1f\0\0", 9) + count;
    first_ += std::string("\0\x08\0data", 7) + bytes;
    first_ += std::string(3, '\0') + std::string(frames * channels, '\x90');
  }

  std::string uri() const override { return "file:///data"; }
  dataset::Sample At(std::uint64_t) const override {
    dataset::Sample sample;
    sample.object = "a";
    return sample;
  }
  void ValuesOf(std::uint64_t,
                absl::Span<dataset::FieldValue> values) const override {
    values[0] = dataset::FieldRange{0, first_.size()};
  }
  absl::StatusOr<std::vector<FieldType>> Types(
      const FieldPipelines& pipelines) const {
    dataset::ValueBuffers buffers;
    return TypesOf(
        *this, {}, pipelines,
        {0,
         {reinterpret_cast<const std::uint8_t*>(first_.data()), first_.size()}},
        [&](std::uint64_t bytes) { return buffers.Add(bytes); });
  }

 private:
  std::string first_;
};

FieldPipelines SliceOf(std::int64_t start, std::int64_t stop) {
  FieldPipelines pipelines;
  proto::FieldPipeline* const pipeline = pipelines.Add();
  pipeline->set_field("audio");
  proto::Slice* const slice = pipeline->add_ops()->mutable_slice();
  slice->set_start(start);
  slice->set_stop(stop);
  return pipelines;
}

TEST_CASE("Clips are arrays of frames and channels", "[stream][field_type]") {
  const Clips clips(100, 1000, 2);
  CHECK(NeedsFirstSample(clips));
  const auto types = clips.Types({});
  REQUIRE_THAT(types, IsOk());
  const FieldType& type = types->front();
  CHECK(type.is_clip());
  CHECK(type.kind == FieldKind::kArray);
  CHECK(type.ragged);
  CHECK(type.value.dtype == proto::DType::kFloat32);
  CHECK(type.value.shape == Shape{2000, 2});
  CHECK(type.ElementsIn(300, 0) == 600u);
  CHECK(type.ElementsIn(~std::uint64_t{0}, 0) == 2000u);
}

TEST_CASE("A window of clips is of one shape", "[stream][field_type]") {
  const auto types = Clips(100, 1000).Types(WindowOf("audio", 70));
  REQUIRE_THAT(types, IsOk());
  CHECK_FALSE(types->front().varies());
  CHECK(types->front().value.shape == Shape{70, 1});
}

// A clip of few bytes may be long, for example if it is silent.
TEST_CASE("A slice bounds the length of clips", "[stream][field_type]") {
  const auto types = Clips(100, 1000).Types(SliceOf(10, 50010));
  REQUIRE_THAT(types, IsOk());
  CHECK(types->front().ragged);
  CHECK(types->front().value.shape == Shape{50000, 1});
  CHECK(types->front().ElementsIn(1, 0) == 50000u);
}

TEST_CASE("The type of a clip field refuses what is not a clip",
          "[stream][field_type]") {
  const auto types = Clips(0, 1000, 0).Types({});
  CHECK_THAT(types, HasCode(absl::StatusCode::kDataLoss));
  CAPTURE(types.status());
  CHECK(absl::StartsWith(types.status().message(),
                         "sample 0 of file:///data: a: "));
  FieldPipelines channels = WindowOf("audio", 1);
  channels[0].mutable_ops(0)->mutable_random_window()->set_axis(1);
  const auto refused = Clips(100, 1000).Types(channels);
  CHECK_THAT(refused, HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace forebay::stream
