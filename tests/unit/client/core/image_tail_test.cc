#include "client/core/image_tail.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace forebay::client::core {
namespace {

using proto::DType;

wire::Tail Said(DType dtype, std::uint64_t channels, bool channels_last) {
  wire::Tail said;
  said.dtype = static_cast<std::uint64_t>(dtype);
  said.layout = channels_last ? 2 : 1;
  said.channels = channels;
  said.table.assign(channels * 256 * proto::SizeOf(dtype), '\x01');
  return said;
}

// A batch of 2 images of 4 x 5 pixels on a GPU, and their labels.
proto::BatchHeader Header(std::uint64_t channels) {
  proto::BatchHeader header = {};
  header.field_count = 2;
  header.sample_count = 2;
  header.fields[0] = {.name = "image",
                      .kind = proto::FieldKind::kImage,
                      .dtype = DType::kUint8,
                      .rank = 4,
                      .place = proto::Place::kDevice,
                      .shape = {2, 4, 5, channels},
                      .offset = 0,
                      .bytes = 40 * channels,
                      .row_splits_offset = 0};
  header.fields[1] = {.name = "label",
                      .kind = proto::FieldKind::kLabel,
                      .dtype = DType::kInt64,
                      .rank = 1,
                      .place = proto::Place::kDevice,
                      .shape = {2},
                      .offset = 4096,
                      .bytes = 16,
                      .row_splits_offset = 0};
  return header;
}

TEST(ImageTailTest, DescribesImagesAsTheyWillBe) {
  for (const DType dtype : {DType::kUint8, DType::kFloat16, DType::kFloat32}) {
    ImageTail tail;
    ASSERT_TRUE(ImageTail::Create(Said(dtype, 3, false), &tail).ok());
    proto::BatchHeader header = Header(3);
    ASSERT_TRUE(tail.Describe(&header).ok());
    const proto::FieldLayout& image = header.fields[0];
    EXPECT_EQ(image.dtype, dtype);
    EXPECT_EQ(image.bytes, 120 * proto::SizeOf(dtype));
    EXPECT_EQ(image.shape[0], 2);
    EXPECT_EQ(image.shape[1], 3);
    EXPECT_EQ(image.shape[2], 4);
    EXPECT_EQ(image.shape[3], 5);
    EXPECT_EQ(header.fields[1].dtype, DType::kInt64);
    EXPECT_EQ(header.fields[1].bytes, 16);
  }
  ImageTail last;
  ASSERT_TRUE(ImageTail::Create(Said(DType::kBfloat16, 1, true), &last).ok());
  proto::BatchHeader header = Header(1);
  ASSERT_TRUE(last.Describe(&header).ok());
  EXPECT_EQ(header.fields[0].shape[1], 4);
  EXPECT_EQ(header.fields[0].shape[3], 1);
  EXPECT_EQ(header.fields[0].bytes, 80);
}

TEST(ImageTailTest, LeavesFinishedImagesAlone) {
  ImageTail none;
  ASSERT_TRUE(ImageTail::Create({}, &none).ok());
  proto::BatchHeader header = Header(3);
  ASSERT_TRUE(none.Describe(&header).ok());
  EXPECT_EQ(header.fields[0].dtype, DType::kUint8);
  EXPECT_EQ(header.fields[0].shape[3], 3);
}

TEST(ImageTailTest, RefusesATailThatMakesNoSense) {
  ImageTail tail;
  for (const auto& spoil : {+[](wire::Tail& t) { t.channels = 2; },
                            +[](wire::Tail& t) { t.channels = UINT64_MAX; },
                            +[](wire::Tail& t) { t.dtype = 0; },
                            +[](wire::Tail& t) { t.dtype = UINT64_MAX; },
                            +[](wire::Tail& t) { t.dtype = 5; },  // 8 bytes
                            +[](wire::Tail& t) { t.table.pop_back(); },
                            +[](wire::Tail& t) { t.table.push_back(0); }}) {
    wire::Tail said = Said(DType::kFloat32, 3, false);
    spoil(said);
    EXPECT_EQ(ImageTail::Create(said, &tail).code, FOREBAY_INTERNAL);
  }
}

TEST(ImageTailTest, RefusesImagesThatItIsNotFor) {
  ImageTail tail;
  ASSERT_TRUE(ImageTail::Create(Said(DType::kFloat32, 3, false), &tail).ok());
  for (const auto& spoil :
       {+[](proto::FieldLayout& f) { f.dtype = DType::kFloat32; },
        +[](proto::FieldLayout& f) { f.rank = 3; },
        +[](proto::FieldLayout& f) { f.shape[3] = 1; }}) {
    proto::BatchHeader header = Header(3);
    spoil(header.fields[0]);
    EXPECT_EQ(tail.Describe(&header).code, FOREBAY_INTERNAL);
  }
}

}  // namespace
}  // namespace forebay::client::core
