#include "server/stream/field_type.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/unit/server/dataset/fake_dataset.h"

namespace forebay::stream {
namespace {

using proto::FieldKind;

// One .npy file a sample, of which the first has that type and shape.
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
  dataset::MadeValues made;
  return TypesOf(arrays, {}, pipelines, {0, arrays.first()},
                 [&](std::uint64_t bytes) { return made.Add(bytes); });
}

FieldType TypeOf(const Arrays& arrays) {
  const auto types = TypesIn(arrays, {});
  EXPECT_TRUE(types.ok()) << types.status();
  return types->front();
}

using Shape = std::vector<std::uint64_t>;

TEST(FieldTypeTest, ArraysOfOneSizeAreOfOneShape) {
  const FieldType type = TypeOf({"<i2", "(4, 3)", 24, 100, 100});
  EXPECT_FALSE(type.varies());
  EXPECT_EQ(type.value.shape, (Shape{4, 3}));
  EXPECT_EQ(type.value.bytes, 24u);
}

TEST(FieldTypeTest, ArraysOfOtherSizesDifferInTheFirstAxis) {
  const FieldType type = TypeOf({"<i2", "(0, 3)", 0, 76, 1005});
  EXPECT_TRUE(type.ragged);
  EXPECT_TRUE(type.varies());
  EXPECT_EQ(type.PlaceFor(proto::Place::kDevice), proto::Place::kHost);
  // As many as the longest file can have.
  EXPECT_EQ(type.value.shape, (Shape{167, 3}));
  EXPECT_EQ(type.value.bytes, 1002u);
}

FieldPipelines WindowOf(std::string_view field, std::uint64_t length) {
  FieldPipelines pipelines;
  proto::FieldPipeline* const pipeline = pipelines.Add();
  pipeline->set_field(std::string(field));
  pipeline->add_ops()->mutable_random_window()->set_length(length);
  return pipelines;
}

TEST(FieldTypeTest, APipelineMakesTheType) {
  const Arrays arrays("<i2", "(9, 3)", 54, 76, 1005);
  const auto types = TypesIn(arrays, WindowOf("npy", 5));
  ASSERT_TRUE(types.ok()) << types.status();
  EXPECT_FALSE(types->front().varies());
  EXPECT_EQ(types->front().value.shape, (Shape{5, 3}));
}

TEST(FieldTypeTest, RefusesPipelinesOfNoArray) {
  const Arrays arrays("<i2", "(9, 3)", 54, 76, 1005);
  const auto refusal = [&](const FieldPipelines& pipelines) {
    const absl::Status checked = CheckPipelines(arrays, pipelines);
    if (!checked.ok()) return std::string(checked.message());
    return std::string(TypesIn(arrays, pipelines).status().message());
  };
  EXPECT_EQ(refusal(WindowOf("mel", 5)),
            "transform: there is no field mel; there are: npy");
  EXPECT_EQ(refusal(WindowOf("npy", 0)),
            "file:///data: npy: transform 1 (RandomWindow): length is 0, not 1 "
            "to 1099511627776");
  FieldPipelines two = WindowOf("npy", 5);
  *two.Add() = two[0];
  EXPECT_EQ(refusal(two), "transform: npy has two of them");
}

TEST(FieldTypeTest, ArraysWithoutElementsToCountAreOfOneShape) {
  for (const char* shape : {"()", "(5, 0)", "(0, 0)"}) {
    const FieldType type =
        TypeOf({"|u1", shape, shape == std::string("()") ? 1u : 0u, 60, 99});
    EXPECT_FALSE(type.varies()) << shape;
  }
  // So many bytes that nobody can count them.
  const Arrays hostile("<f8", "(0, 4294967296, 4294967296)", 0, 60, 99);
  const auto types = TypesIn(hostile, {});
  if (types.ok()) EXPECT_FALSE(types->front().varies());
}

// Audio files, of which the first is a WAV file of 8 bits.
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
    dataset::MadeValues made;
    return TypesOf(
        *this, {}, pipelines,
        {0,
         {reinterpret_cast<const std::uint8_t*>(first_.data()), first_.size()}},
        [&](std::uint64_t bytes) { return made.Add(bytes); });
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

TEST(FieldTypeTest, ClipsAreArraysOfFramesAndChannels) {
  const Clips clips(100, 1000, 2);
  EXPECT_TRUE(NeedsFirstSample(clips));
  const auto types = clips.Types({});
  ASSERT_TRUE(types.ok()) << types.status();
  const FieldType& type = types->front();
  EXPECT_TRUE(type.is_clip());
  EXPECT_EQ(type.kind, FieldKind::kArray);
  EXPECT_TRUE(type.ragged);
  EXPECT_EQ(type.value.dtype, proto::DType::kFloat32);
  EXPECT_EQ(type.value.shape, (Shape{2000, 2}));
  EXPECT_EQ(type.ElementsIn(300, 0), 600u);
  EXPECT_EQ(type.ElementsIn(~std::uint64_t{0}, 0), 2000u);
}

TEST(FieldTypeTest, AWindowOfClipsIsOfOneShape) {
  const auto types = Clips(100, 1000).Types(WindowOf("audio", 70));
  ASSERT_TRUE(types.ok()) << types.status();
  EXPECT_FALSE(types->front().varies());
  EXPECT_EQ(types->front().value.shape, (Shape{70, 1}));
}

// However few bytes a clip has, it may be of silence and long.
TEST(FieldTypeTest, ASliceBoundsClips) {
  const auto types = Clips(100, 1000).Types(SliceOf(10, 50010));
  ASSERT_TRUE(types.ok()) << types.status();
  EXPECT_TRUE(types->front().ragged);
  EXPECT_EQ(types->front().value.shape, (Shape{50000, 1}));
  EXPECT_EQ(types->front().ElementsIn(1, 0), 50000u);
}

TEST(FieldTypeTest, RefusesWhatIsNoClip) {
  const auto types = Clips(0, 1000, 0).Types({});
  EXPECT_TRUE(absl::IsDataLoss(types.status())) << types.status();
  EXPECT_TRUE(absl::StartsWith(types.status().message(),
                               "sample 0 of file:///data: a: "))
      << types.status();
  FieldPipelines channels = WindowOf("audio", 1);
  channels[0].mutable_ops(0)->mutable_random_window()->set_axis(1);
  const auto refused = Clips(100, 1000).Types(channels);
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
}

}  // namespace
}  // namespace forebay::stream
