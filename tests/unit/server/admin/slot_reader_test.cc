#include "server/admin/slot_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "proto/shm_layout.h"
#include "tests/unit/server/admin/fake_introspection.h"

namespace forebay::admin {
namespace {

std::vector<std::uint8_t> Slot() {
  std::vector<std::uint8_t> slot;
  AddField("image", proto::FieldKind::kImage, proto::DType::kFloat32,
           {2, 3, 5, 7}, &slot);
  AddField("label", proto::FieldKind::kLabel, proto::DType::kInt64, {2}, &slot);
  return slot;
}

absl::Status Describe(const std::vector<std::uint8_t>& slot,
                      proto::PeekChunk* chunk) {
  return DescribeSlot(absl::MakeConstSpan(slot), chunk);
}

// Returns what DescribeSlot says of a good slot with a header that `change` has
// altered.
std::string Altered(const std::function<void(proto::BatchHeader*)>& change) {
  std::vector<std::uint8_t> slot = Slot();
  proto::BatchHeader header;
  std::memcpy(&header, slot.data(), sizeof(header));
  change(&header);
  std::memcpy(slot.data(), &header, sizeof(header));
  proto::PeekChunk chunk;
  const absl::Status status = Describe(slot, &chunk);
  return status.ok() ? "accepted" : std::string(status.message());
}

TEST(SlotReaderTest, DescribesTheFields) {
  proto::PeekChunk chunk;
  ASSERT_TRUE(Describe(Slot(), &chunk).ok());
  ASSERT_EQ(chunk.fields_size(), 2);
  const proto::PeekChunk::Field& image = chunk.fields(0);
  EXPECT_EQ(image.name(), "image");
  EXPECT_EQ(image.kind(), "image");
  EXPECT_EQ(image.dtype(), proto::FLOAT32);
  EXPECT_EQ(
      std::vector<std::uint64_t>(image.shape().begin(), image.shape().end()),
      (std::vector<std::uint64_t>{2, 3, 5, 7}));
  EXPECT_EQ(image.offset(), 0);
  EXPECT_EQ(image.bytes(), 2 * 3 * 5 * 7 * 4);
  EXPECT_EQ(chunk.fields(1).kind(), "label");
  EXPECT_EQ(chunk.fields(1).dtype(), proto::INT64);
  EXPECT_EQ(chunk.fields(1).offset(), 4096);
  EXPECT_EQ(chunk.total_bytes(), 4096 + 16);
}

TEST(SlotReaderTest, BelievesNothing) {
  using Header = proto::BatchHeader;
  const std::string start = "the batch cannot be shown: its header has ";
  EXPECT_EQ(Altered([](Header*) {}), "accepted");
  EXPECT_EQ(Altered([](Header* h) { h->magic = 1; }), start + "a wrong mark");
  EXPECT_EQ(Altered([](Header* h) { h->version = 99; }),
            start + "another version");
  EXPECT_EQ(Altered([](Header* h) { h->field_count = 17; }),
            start + "too many fields");
  EXPECT_EQ(Altered([](Header* h) {
              std::fill_n(h->fields[0].name, proto::kMaxFieldName, 'x');
            }),
            start + "a field name without an end");
  EXPECT_EQ(Altered([](Header* h) {
              h->fields[0].kind = static_cast<proto::FieldKind>(99);
            }),
            start + "a field of unknown kind");
  EXPECT_EQ(Altered([](Header* h) {
              h->fields[0].dtype = static_cast<proto::DType>(99);
            }),
            start + "a field of unknown type");
  EXPECT_EQ(Altered([](Header* h) { h->fields[1].rank = 7; }),
            start + "a field of impossible rank");
  EXPECT_EQ(Altered([](Header* h) { h->fields[1].rank = 0; }),
            start + "a field of impossible rank");
  EXPECT_EQ(Altered([](Header* h) { h->fields[0].shape[0] = ~0ull; }),
            start + "a field of impossible shape");
  EXPECT_EQ(Altered([](Header* h) { h->fields[0].bytes += 4; }),
            start + "a field whose shape and size differ");
  const std::string outside = start + "a field that lies outside of the slot";
  EXPECT_EQ(Altered([](Header* h) { h->fields[1].offset = 0; }), outside);
  EXPECT_EQ(Altered([](Header* h) { h->fields[1].offset = ~0ull; }), outside);
  EXPECT_EQ(Altered([](Header* h) { h->fields[1].offset += 1; }), outside);
}

TEST(SlotReaderTest, ShortSlotsAreRefused) {
  proto::PeekChunk chunk;
  EXPECT_EQ(Describe(std::vector<std::uint8_t>(4095), &chunk).code(),
            absl::StatusCode::kInternal);
  EXPECT_FALSE(Describe({}, &chunk).ok());
}

TEST(SlotReaderTest, RandomHeadersNeverPointOutside) {
  constexpr std::uint32_t kSeed = 20240611;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint8_t> slot = Slot();
    for (int flips = 0; flips < 3; ++flips) {
      slot[random() % (40 + 2 * sizeof(proto::FieldLayout))] ^=
          1u << (random() % 8);
    }
    proto::PeekChunk chunk;
    if (!Describe(slot, &chunk).ok()) continue;
    ++accepted;
    for (const proto::PeekChunk::Field& field : chunk.fields()) {
      ASSERT_LE(field.offset() + field.bytes(), chunk.total_bytes());
    }
    ASSERT_LE(proto::kSlotHeaderBytes + chunk.total_bytes(), slot.size());
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace forebay::admin
