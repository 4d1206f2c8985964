#include "server/stream/batch_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::stream {
namespace {

using proto::DType;
using proto::FieldKind;

FieldType Image(DType dtype, std::uint64_t bytes,
                std::vector<std::uint64_t> shape = {}) {
  return {.name = "image",
          .kind = FieldKind::kImage,
          .value = {.dtype = dtype, .shape = std::move(shape), .bytes = bytes}};
}

FieldType Label() {
  return {.name = "label",
          .kind = FieldKind::kLabel,
          .value = {.dtype = DType::kInt64, .shape = {}, .bytes = 8}};
}

FieldType Text(std::uint64_t longest) {
  return {
      .name = "txt",
      .kind = FieldKind::kText,
      .value = {.dtype = DType::kUint8, .shape = {longest}, .bytes = longest}};
}

proto::BatchHeader HeaderOf(const std::vector<std::uint8_t>& slot) {
  proto::BatchHeader header;
  std::memcpy(&header, slot.data(), sizeof(header));
  return header;
}

std::int64_t Int64At(const std::vector<std::uint8_t>& slot,
                     std::uint64_t offset) {
  std::int64_t value;
  std::memcpy(&value, slot.data() + offset, sizeof(value));
  return value;
}

absl::Span<const std::uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(BatchLayoutTest, DescribesABatchSmallerThanItsSlot) {
  const FieldType image = Image(DType::kFloat16, 2 * 3 * 5 * 7, {3, 5, 7});
  const BatchLayout layout({image, Label()}, 8);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  layout.SetInteger({.host = slot.data()}, 1, 2, -4);
  layout.SetSampleId({.host = slot.data()}, 2, 1LL << 40);
  EXPECT_EQ(
      layout.Complete(
          {.host = slot.data()},
          {.generation = 6, .sample_count = 3, .epoch = 2, .first_sample = 16}),
      3 * (image.value.bytes + 16));
  const proto::BatchHeader header = HeaderOf(slot);
  EXPECT_EQ(header.generation, 6);
  EXPECT_EQ(header.epoch, 2);
  EXPECT_EQ(header.first_sample, 16);
  ASSERT_EQ(header.field_count, 3);

  const proto::FieldLayout& pixels = header.fields[0];
  EXPECT_STREQ(pixels.name, "image");
  EXPECT_EQ(pixels.rank, 4);
  EXPECT_EQ(pixels.shape[0], 3);
  EXPECT_EQ(pixels.shape[3], 7);
  EXPECT_EQ(pixels.bytes, 3 * image.value.bytes);
  EXPECT_EQ(layout.Room({.host = slot.data()}, 0, 2).data() - slot.data(),
            pixels.offset + 2 * image.value.bytes);
  EXPECT_EQ(Int64At(slot, header.fields[1].offset + 16), -4);
  EXPECT_STREQ(header.fields[2].name, "sample_id");
  EXPECT_EQ(Int64At(slot, header.fields[2].offset + 16), 1LL << 40);
}

TEST(BatchLayoutTest, RefusesWhatNobodyCanReckonWith) {
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;
  constexpr std::uint32_t kMax = 65536;
  EXPECT_TRUE(BatchLayout::CheckSize({Label(), Text(1 << 20)}, kMax).ok());
  EXPECT_TRUE(BatchLayout::CheckSize({Text(kLongest)}, 256).ok());
  // 2^48 times 2^16 overflows to 0 in 64 bits.
  const std::vector<FieldType> many(std::size_t{1} << 8, Text(kLongest));
  EXPECT_TRUE(absl::IsResourceExhausted(BatchLayout::CheckSize(many, kMax)));
  EXPECT_TRUE(absl::IsResourceExhausted(
      BatchLayout::CheckSize({Text(UINT64_MAX), Text(1)}, 1)));
}

TEST(BatchLayoutTest, KeepsFieldsApartAndAligned) {
  for (const std::uint64_t bytes : {1, 4095, 4096, 4097, 602112}) {
    for (const std::uint32_t batch_size : {1, 3, 256, 511, 512}) {
      const BatchLayout layout(
          {Image(DType::kUint8, bytes), Text(bytes), Label()}, batch_size);
      std::vector<std::uint8_t> slot(layout.slot_size().host);
      const std::vector<std::uint8_t> longest(bytes, 'x');
      for (std::uint32_t i = 0; i < batch_size; ++i) {
        layout.SetBytes({.host = slot.data()}, 1, i, longest);
      }
      EXPECT_EQ(
          layout.Complete({.host = slot.data()}, {.generation = 1,
                                                  .sample_count = batch_size,
                                                  .epoch = 0,
                                                  .first_sample = 0}),
          batch_size * (2 * bytes + 16));
      const proto::BatchHeader header = HeaderOf(slot);
      std::uint64_t end = proto::kSlotHeaderBytes;
      const auto follows = [&](std::uint64_t offset, std::uint64_t length) {
        EXPECT_EQ(offset % proto::kFieldAlignment, 0);
        EXPECT_GE(offset, end);
        end = offset + length;
      };
      for (std::uint32_t i = 0; i < header.field_count; ++i) {
        const proto::FieldLayout& field = header.fields[i];
        follows(field.offset, field.bytes);
        if (field.row_splits_offset != 0) {
          follows(field.row_splits_offset, (batch_size + 1) * 8);
        }
      }
      EXPECT_LE(end, layout.slot_size().host);
    }
  }
}

TEST(BatchLayoutTest, ClosesUpWhatVaries) {
  const std::vector<std::string> texts = {"", "four", "a", "", "longest", "b"};
  const BatchLayout layout({Text(7), Label()}, 8);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  // The batch before leaves such bytes, and so do samples that others replaced.
  for (std::uint32_t i = 0; i < 8; ++i) {
    layout.SetBytes({.host = slot.data()}, 0, i, BytesOf("garbage"));
  }
  for (std::uint32_t i = 6; i-- > 0;) {
    layout.SetBytes({.host = slot.data()}, 0, i, BytesOf(texts[i]));
  }
  EXPECT_EQ(
      layout.Complete(
          {.host = slot.data()},
          {.generation = 1, .sample_count = 6, .epoch = 0, .first_sample = 0}),
      13 + 2 * 6 * 8);
  const proto::BatchHeader header = HeaderOf(slot);
  const proto::FieldLayout& field = header.fields[0];
  EXPECT_EQ(field.kind, FieldKind::kText);
  EXPECT_EQ(field.rank, 1);
  EXPECT_EQ(field.shape[0], 13);
  EXPECT_EQ(field.bytes, 13);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(Int64At(slot, field.row_splits_offset + i * 8), at);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(slot.data()) +
                              field.offset + at,
                          texts[i].size()),
              texts[i]);
    at += static_cast<std::int64_t>(texts[i].size());
  }
  EXPECT_EQ(Int64At(slot, field.row_splits_offset + 6 * 8), at);
}

TEST(BatchLayoutTest, ClosesUpArraysThatDifferInLength) {
  const FieldType ragged{
      .name = "npy",
      .kind = FieldKind::kArray,
      .value = {.dtype = DType::kInt16, .shape = {4, 3}, .bytes = 24},
      .ragged = true};
  const BatchLayout layout({ragged, Label()}, 4, proto::Place::kDevice);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  std::vector<std::uint8_t> device(layout.slot_size().device);
  const BatchMemory memory{.host = slot.data(), .device = device.data()};
  const std::string elements = "aaaaaabbbbbbccccccdddddd";
  const std::vector<std::uint64_t> lengths = {2, 0, 4};
  for (std::uint32_t i = 0; i < lengths.size(); ++i)
    layout.SetBytes(memory, 0, i, BytesOf(elements.substr(0, lengths[i] * 6)));
  layout.Complete(memory, {.sample_count = 3});
  const proto::BatchHeader header = HeaderOf(slot);
  const proto::FieldLayout& field = header.fields[0];
  EXPECT_EQ(field.place, proto::Place::kHost);
  EXPECT_EQ(field.rank, 2u);
  EXPECT_EQ(field.shape[0], 6u);
  EXPECT_EQ(field.shape[1], 3u);
  EXPECT_EQ(field.bytes, 36u);
  EXPECT_EQ(std::string(
                reinterpret_cast<const char*>(slot.data() + field.offset), 36),
            elements.substr(0, 12) + elements);
  const std::vector<std::int64_t> splits = {0, 2, 2, 6};
  for (std::size_t i = 0; i < splits.size(); ++i)
    EXPECT_EQ(Int64At(slot, field.row_splits_offset + i * 8), splits[i]);
}

TEST(BatchLayoutTest, GivesEachSampleTheRoomThatItNeeds) {
  const FieldType ragged{
      .name = "npy",
      .kind = FieldKind::kArray,
      .value = {.dtype = DType::kInt16, .shape = {1000}, .bytes = 2000},
      .ragged = true};
  const std::vector<FieldType> types = {Text(5000), Label(), ragged};
  const std::vector<std::uint64_t> room = {20, 0, 64};
  const BatchLayout layout(types, 4, proto::Place::kHost, 0, room);
  EXPECT_LT(layout.slot_size().host,
            BatchLayout(types, 4).slot_size().host - 4 * 6000);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  // Text, label and array of each of three samples.
  const std::vector<std::uint64_t> starts =
      layout.StartsFor(std::vector<std::uint64_t>{5, 0, 4, 0, 0, 40, 9, 0, 6});
  const BatchMemory memory{.host = slot.data(), .starts = starts};
  EXPECT_EQ(layout.Room(memory, 0, 2).size(), 9u);
  EXPECT_EQ(layout.Room(memory, 2, 1).size(), 40u);
  EXPECT_EQ(layout.Room(memory, 1, 2).data(),
            layout.Room(memory, 1, 0).data() + 16);
  const std::vector<std::string> texts = {"five", "", "nine char"};
  const std::vector<std::string> arrays = {"aabb", std::string(30, 'c'), "dd"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    layout.SetBytes(memory, 0, i, BytesOf(texts[i]));
    layout.SetBytes(memory, 2, i, BytesOf(arrays[i]));
    layout.SetInteger(memory, 1, i, i);
  }
  layout.Complete(memory, {.sample_count = 3});
  const proto::BatchHeader header = HeaderOf(slot);
  const auto bytes = [&](const proto::FieldLayout& field) {
    return std::string(
        reinterpret_cast<const char*>(slot.data()) + field.offset, field.bytes);
  };
  EXPECT_EQ(bytes(header.fields[0]), "fivenine char");
  EXPECT_EQ(bytes(header.fields[2]), "aabb" + arrays[1] + "dd");
  EXPECT_EQ(header.fields[2].shape[0], 18u);
  EXPECT_EQ(Int64At(slot, header.fields[2].row_splits_offset + 16), 17);
}

TEST(BatchLayoutTest, RefusesRoomBeyondAllMemory) {
  const std::vector<FieldType> types = {Text(1), Label()};
  const std::vector<std::uint64_t> room = {std::uint64_t{1} << 49, 0};
  EXPECT_TRUE(
      absl::IsResourceExhausted(BatchLayout::CheckSize(types, 8, 0, room)));
  EXPECT_TRUE(BatchLayout::CheckSize(types, 8).ok());
}

TEST(BatchLayoutTest, FieldsLieOnTheHostForGpusIfTheySaySo) {
  FieldType label = Label();
  label.on_host = true;
  const BatchLayout layout({label, Label()}, 8, proto::Place::kDevice);
  EXPECT_EQ(layout.slot_size().device, proto::kFieldAlignment);
  std::vector<std::uint8_t> host(layout.slot_size().host);
  std::vector<std::uint8_t> device(layout.slot_size().device);
  const BatchMemory slot = {.host = host.data(), .device = device.data()};
  layout.SetInteger(slot, 0, 3, 5);
  layout.SetInteger(slot, 1, 3, 6);
  layout.Complete(slot, {.sample_count = 8});
  const proto::BatchHeader header = HeaderOf(host);
  EXPECT_EQ(header.fields[0].place, proto::Place::kHost);
  EXPECT_EQ(header.fields[1].place, proto::Place::kDevice);
  EXPECT_EQ(Int64At(host, header.fields[0].offset + 24), 5);
  EXPECT_EQ(Int64At(device, header.fields[1].offset + 24), 6);
}

TEST(BatchLayoutTest, DesksLieBehindAllFields) {
  const std::vector<FieldType> types = {Image(DType::kUint8, 12), Text(9)};
  const BatchLayout plain(types, 5);
  const BatchLayout layout(types, 5, proto::Place::kHost, 24);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  const BatchMemory memory{.host = slot.data()};
  for (std::uint32_t row = 0; row < 5; ++row) {
    const absl::Span<std::uint8_t> desk = layout.Desk(memory, row);
    ASSERT_EQ(desk.size(), 24u);
    EXPECT_EQ(desk.data(), layout.Desk(memory, 0).data() + row * 24);
    EXPECT_LE(desk.data() + desk.size(), slot.data() + slot.size());
    EXPECT_GE(desk.data(), slot.data() + plain.slot_size().host);
  }
}

TEST(BatchLayoutTest, LengthsThatProducersWroteOverHarmNobody) {
  const BatchLayout layout({Text(9)}, 2, proto::Place::kHost, 8);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  const BatchMemory memory{.host = slot.data()};
  layout.SetBytes(memory, 0, 0, BytesOf("one"));
  layout.SetBytes(memory, 0, 1, BytesOf("two"));
  // All but the header, as a producer may.
  std::fill(slot.begin() + proto::kSlotHeaderBytes, slot.end(), 0xff);
  layout.Complete(memory, {.sample_count = 2});
  const proto::BatchHeader header = HeaderOf(slot);
  EXPECT_EQ(header.fields[0].bytes, 18u);
  EXPECT_EQ(Int64At(slot, header.fields[0].row_splits_offset + 16), 18);
}

}  // namespace
}  // namespace forebay::stream
