#include "server/stream/batch_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace forebay::stream {
namespace {

constexpr pipeline::TensorType Type(proto::DType dtype, std::uint64_t bytes) {
  return {.dtype = dtype, .shape = {}, .bytes = bytes};
}

TEST(BatchLayoutTest, DescribesABatchSmallerThanItsSlot) {
  pipeline::TensorType image = Type(proto::DType::kFloat16, 2 * 3 * 5 * 7);
  image.shape = {3, 5, 7};
  const BatchLayout layout(image, 8);
  std::vector<std::uint8_t> slot(layout.slot_bytes());
  layout.SetLabel(slot.data(), 2, -4);
  layout.SetSampleId(slot.data(), 2, 1LL << 40);
  layout.WriteHeader(
      slot.data(),
      {.generation = 6, .sample_count = 3, .epoch = 2, .first_sample = 16});
  proto::BatchHeader header;
  std::memcpy(&header, slot.data(), sizeof(header));
  EXPECT_EQ(header.generation, 6);
  EXPECT_EQ(header.epoch, 2);
  EXPECT_EQ(header.first_sample, 16);
  ASSERT_EQ(header.field_count, 3);

  const proto::FieldLayout& pixels = header.fields[0];
  EXPECT_STREQ(pixels.name, "image");
  EXPECT_EQ(pixels.rank, 4);
  EXPECT_EQ(pixels.shape[0], 3);
  EXPECT_EQ(pixels.shape[3], 7);
  EXPECT_EQ(pixels.bytes, 3 * image.bytes);
  EXPECT_EQ(layout.Image(slot.data(), 2).data() - slot.data(),
            pixels.offset + 2 * image.bytes);

  std::int64_t label;
  std::int64_t id;
  std::memcpy(&label, slot.data() + header.fields[1].offset + 16, 8);
  std::memcpy(&id, slot.data() + header.fields[2].offset + 16, 8);
  EXPECT_EQ(label, -4);
  EXPECT_EQ(id, 1LL << 40);
}

TEST(BatchLayoutTest, KeepsFieldsApartAndAligned) {
  for (const std::uint64_t bytes : {1, 4095, 4096, 4097, 602112}) {
    for (const std::uint32_t batch_size : {1, 3, 256}) {
      const BatchLayout layout(Type(proto::DType::kUint8, bytes), batch_size);
      std::vector<std::uint8_t> slot(layout.slot_bytes());
      layout.WriteHeader(slot.data(), {.generation = 1,
                                       .sample_count = batch_size,
                                       .epoch = 0,
                                       .first_sample = 0});
      proto::BatchHeader header;
      std::memcpy(&header, slot.data(), sizeof(header));
      std::uint64_t end = proto::kSlotHeaderBytes;
      for (std::uint32_t i = 0; i < header.field_count; ++i) {
        EXPECT_EQ(header.fields[i].offset % proto::kFieldAlignment, 0);
        EXPECT_GE(header.fields[i].offset, end);
        end = header.fields[i].offset + header.fields[i].bytes;
      }
      EXPECT_LE(end, layout.slot_bytes());
      EXPECT_EQ(layout.DataBytes(batch_size), batch_size * (bytes + 16));
    }
  }
}

}  // namespace
}  // namespace forebay::stream
