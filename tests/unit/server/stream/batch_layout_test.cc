#include "server/stream/batch_layout.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

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

TEST_CASE("A batch layout describes a batch smaller than its slot",
          "[stream][batch_layout]") {
  const FieldType image = Image(DType::kFloat16, 2 * 3 * 5 * 7, {3, 5, 7});
  const BatchLayout layout({image, Label()}, 8);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  layout.SetInteger({.host = slot.data()}, 1, 2, -4);
  layout.SetSampleId({.host = slot.data()}, 2, 1LL << 40);
  CHECK(layout.Complete({.host = slot.data()}, {.generation = 6,
                                                .sample_count = 3,
                                                .epoch = 2,
                                                .first_sample = 16}) ==
        3 * (image.value.bytes + 16));
  const proto::BatchHeader header = HeaderOf(slot);
  CHECK(header.generation == 6);
  CHECK(header.epoch == 2);
  CHECK(header.first_sample == 16);
  REQUIRE(header.field_count == 3);

  const proto::FieldLayout& pixels = header.fields[0];
  CHECK(std::string_view(pixels.name) == "image");
  CHECK(pixels.rank == 4);
  CHECK(pixels.shape[0] == 3);
  CHECK(pixels.shape[3] == 7);
  CHECK(pixels.bytes == 3 * image.value.bytes);
  CHECK(layout.Room({.host = slot.data()}, 0, 2).data() - slot.data() ==
        pixels.offset + 2 * image.value.bytes);
  CHECK(Int64At(slot, header.fields[1].offset + 16) == -4);
  CHECK(std::string_view(header.fields[2].name) == "sample_id");
  CHECK(Int64At(slot, header.fields[2].offset + 16) == 1LL << 40);
}

TEST_CASE("A batch layout refuses sizes too large for anybody to reckon with",
          "[stream][batch_layout]") {
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;
  constexpr std::uint32_t kMax = 65536;
  CHECK_THAT(BatchLayout::CheckSize({Label(), Text(1 << 20)}, kMax), IsOk());
  CHECK_THAT(BatchLayout::CheckSize({Text(kLongest)}, 256), IsOk());
  // 2^48 times 2^16 overflows to 0 in 64 bits.
  const std::vector<FieldType> many(std::size_t{1} << 8, Text(kLongest));
  CHECK_THAT(BatchLayout::CheckSize(many, kMax),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(BatchLayout::CheckSize({Text(UINT64_MAX), Text(1)}, 1),
             HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE("A batch layout keeps fields apart and aligned",
          "[stream][batch_layout]") {
  for (const std::uint64_t bytes : {1, 4095, 4096, 4097, 602112}) {
    for (const std::uint32_t batch_size : {1, 3, 256, 511, 512}) {
      const BatchLayout layout(
          {Image(DType::kUint8, bytes), Text(bytes), Label()}, batch_size);
      std::vector<std::uint8_t> slot(layout.slot_size().host);
      const std::vector<std::uint8_t> longest(bytes, 'x');
      for (std::uint32_t i = 0; i < batch_size; ++i) {
        layout.SetBytes({.host = slot.data()}, 1, i, longest);
      }
      CHECK(layout.Complete({.host = slot.data()}, {.generation = 1,
                                                    .sample_count = batch_size,
                                                    .epoch = 0,
                                                    .first_sample = 0}) ==
            batch_size * (2 * bytes + 16));
      const proto::BatchHeader header = HeaderOf(slot);
      std::uint64_t end = proto::kSlotHeaderBytes;
      const auto follows = [&](std::uint64_t offset, std::uint64_t length) {
        CHECK(offset % proto::kFieldAlignment == 0);
        CHECK(offset >= end);
        end = offset + length;
      };
      for (std::uint32_t i = 0; i < header.field_count; ++i) {
        const proto::FieldLayout& field = header.fields[i];
        follows(field.offset, field.bytes);
        if (field.row_splits_offset != 0) {
          follows(field.row_splits_offset, (batch_size + 1) * 8);
        }
      }
      CHECK(end <= layout.slot_size().host);
    }
  }
}

TEST_CASE("A batch layout closes up values that vary in length",
          "[stream][batch_layout]") {
  const std::vector<std::string> texts = {"", "four", "a", "", "longest", "b"};
  const BatchLayout layout({Text(7), Label()}, 8);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  // The slot has garbage from the previous batch, and from samples that were
  // replaced.
  for (std::uint32_t i = 0; i < 8; ++i) {
    layout.SetBytes({.host = slot.data()}, 0, i, BytesOf("garbage"));
  }
  for (std::uint32_t i = 6; i-- > 0;) {
    layout.SetBytes({.host = slot.data()}, 0, i, BytesOf(texts[i]));
  }
  CHECK(layout.Complete({.host = slot.data()}, {.generation = 1,
                                                .sample_count = 6,
                                                .epoch = 0,
                                                .first_sample = 0}) ==
        13 + 2 * 6 * 8);
  const proto::BatchHeader header = HeaderOf(slot);
  const proto::FieldLayout& field = header.fields[0];
  CHECK(field.kind == FieldKind::kText);
  CHECK(field.rank == 1);
  CHECK(field.shape[0] == 13);
  CHECK(field.bytes == 13);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(Int64At(slot, field.row_splits_offset + i * 8) == at);
    CHECK(std::string(
              reinterpret_cast<const char*>(slot.data()) + field.offset + at,
              texts[i].size()) == texts[i]);
    at += static_cast<std::int64_t>(texts[i].size());
  }
  CHECK(Int64At(slot, field.row_splits_offset + 6 * 8) == at);
}

TEST_CASE("A batch layout closes up arrays that differ in length",
          "[stream][batch_layout]") {
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
  CHECK(field.place == proto::Place::kHost);
  CHECK(field.rank == 2u);
  CHECK(field.shape[0] == 6u);
  CHECK(field.shape[1] == 3u);
  CHECK(field.bytes == 36u);
  CHECK(std::string(reinterpret_cast<const char*>(slot.data() + field.offset),
                    36) == elements.substr(0, 12) + elements);
  const std::vector<std::int64_t> splits = {0, 2, 2, 6};
  for (std::size_t i = 0; i < splits.size(); ++i)
    CHECK(Int64At(slot, field.row_splits_offset + i * 8) == splits[i]);
}

TEST_CASE("A batch layout gives each sample the room that it needs",
          "[stream][batch_layout]") {
  const FieldType ragged{
      .name = "npy",
      .kind = FieldKind::kArray,
      .value = {.dtype = DType::kInt16, .shape = {1000}, .bytes = 2000},
      .ragged = true};
  const std::vector<FieldType> types = {Text(5000), Label(), ragged};
  const std::vector<std::uint64_t> room = {20, 0, 64};
  const BatchLayout layout(types, 4, proto::Place::kHost, 0, room);
  CHECK(layout.slot_size().host <
        BatchLayout(types, 4).slot_size().host - 4 * 4000);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  // The lengths are those of the text, label and array of each of the three
  // samples.
  const std::vector<std::uint64_t> starts =
      layout.StartsFor(std::vector<std::uint64_t>{5, 0, 4, 0, 0, 40, 9, 0, 6});
  const BatchMemory memory{.host = slot.data(), .starts = starts};
  CHECK(layout.Room(memory, 0, 2).size() == 9u);
  CHECK(layout.Room(memory, 2, 1).size() == 40u);
  CHECK(layout.Room(memory, 1, 2).data() ==
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
  CHECK(bytes(header.fields[0]) == "fivenine char");
  CHECK(bytes(header.fields[2]) == "aabb" + arrays[1] + "dd");
  CHECK(header.fields[2].shape[0] == 18u);
  CHECK(Int64At(slot, header.fields[2].row_splits_offset + 16) == 17);
}

TEST_CASE("A batch layout refuses room beyond all memory",
          "[stream][batch_layout]") {
  const std::vector<FieldType> types = {Text(1), Label()};
  const std::vector<std::uint64_t> room = {std::uint64_t{1} << 49, 0};
  CHECK_THAT(BatchLayout::CheckSize(types, 8, 0, room),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(BatchLayout::CheckSize(types, 8), IsOk());
}

TEST_CASE("Fields of a batch for GPUs lie on the host if they say so",
          "[stream][batch_layout]") {
  FieldType label = Label();
  label.on_host = true;
  const BatchLayout layout({label, Label()}, 8, proto::Place::kDevice);
  CHECK(layout.slot_size().device == proto::kFieldAlignment);
  std::vector<std::uint8_t> host(layout.slot_size().host);
  std::vector<std::uint8_t> device(layout.slot_size().device);
  const BatchMemory slot = {.host = host.data(), .device = device.data()};
  layout.SetInteger(slot, 0, 3, 5);
  layout.SetInteger(slot, 1, 3, 6);
  layout.Complete(slot, {.sample_count = 8});
  const proto::BatchHeader header = HeaderOf(host);
  CHECK(header.fields[0].place == proto::Place::kHost);
  CHECK(header.fields[1].place == proto::Place::kDevice);
  CHECK(Int64At(host, header.fields[0].offset + 24) == 5);
  CHECK(Int64At(device, header.fields[1].offset + 24) == 6);
}

TEST_CASE("The user-code buffers of a batch lie behind all its fields",
          "[stream][batch_layout]") {
  const std::vector<FieldType> types = {Image(DType::kUint8, 12), Text(9)};
  const BatchLayout plain(types, 5);
  const BatchLayout layout(types, 5, proto::Place::kHost, 24);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  const BatchMemory memory{.host = slot.data()};
  for (std::uint32_t row = 0; row < 5; ++row) {
    const absl::Span<std::uint8_t> user_buffer = layout.UserBuffer(memory, row);
    REQUIRE(user_buffer.size() == 24u);
    CHECK(user_buffer.data() == layout.UserBuffer(memory, 0).data() + row * 24);
    CHECK(user_buffer.data() + user_buffer.size() <= slot.data() + slot.size());
    CHECK(user_buffer.data() >= slot.data() + plain.slot_size().host);
  }
}

TEST_CASE("Lengths in a batch that workers wrote over harm nobody",
          "[stream][batch_layout]") {
  const BatchLayout layout({Text(9)}, 2, proto::Place::kHost, 8);
  std::vector<std::uint8_t> slot(layout.slot_size().host);
  const BatchMemory memory{.host = slot.data()};
  layout.SetBytes(memory, 0, 0, BytesOf("one"));
  layout.SetBytes(memory, 0, 1, BytesOf("two"));
  // A worker may overwrite all of a slot except its header.
  std::fill(slot.begin() + proto::kSlotHeaderBytes, slot.end(), 0xff);
  layout.Complete(memory, {.sample_count = 2});
  const proto::BatchHeader header = HeaderOf(slot);
  CHECK(header.fields[0].bytes == 18u);
  CHECK(Int64At(slot, header.fields[0].row_splits_offset + 16) == 18);
}

}  // namespace
}  // namespace forebay::stream
