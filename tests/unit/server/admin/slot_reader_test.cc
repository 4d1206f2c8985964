#include "server/admin/slot_reader.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "proto/shm_layout.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/admin/fake_introspection.h"

namespace forebay::admin {
namespace {

using tests::HasCode;
using tests::IsOk;

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

// Returns the message of DescribeSlot for a slot that is good except for what
// `change` does to its header.
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

TEST_CASE("The slot reader describes the fields of a batch",
          "[admin][slot_reader]") {
  proto::PeekChunk chunk;
  REQUIRE_THAT(Describe(Slot(), &chunk), IsOk());
  REQUIRE(chunk.fields_size() == 2);
  const proto::PeekChunk::Field& image = chunk.fields(0);
  CHECK(image.name() == "image");
  CHECK(image.kind() == "image");
  CHECK(image.dtype() == proto::FLOAT32);
  CHECK(
      std::vector<std::uint64_t>(image.shape().begin(), image.shape().end()) ==
      std::vector<std::uint64_t>{2, 3, 5, 7});
  CHECK(image.offset() == 0);
  CHECK(image.bytes() == 2 * 3 * 5 * 7 * 4);
  CHECK(chunk.fields(1).kind() == "label");
  CHECK(chunk.fields(1).dtype() == proto::INT64);
  CHECK(chunk.fields(1).offset() == 4096);
  CHECK(chunk.total_bytes() == 4096 + 16);
}

TEST_CASE(
    "The slot reader believes nothing that a slot's header says unchecked",
    "[admin][slot_reader]") {
  using Header = proto::BatchHeader;
  const std::string start = "the batch cannot be shown: its header has ";
  CHECK(Altered([](Header*) {}) == "accepted");
  CHECK(Altered([](Header* h) { h->magic = 1; }) == start + "a wrong mark");
  CHECK(Altered([](Header* h) { h->version = 99; }) ==
        start + "another version");
  CHECK(Altered([](Header* h) { h->field_count = 17; }) ==
        start + "too many fields");
  CHECK(Altered([](Header* h) {
          std::fill_n(h->fields[0].name, proto::kMaxFieldName, 'x');
        }) == start + "a field name without an end");
  CHECK(Altered([](Header* h) {
          h->fields[0].kind = static_cast<proto::FieldKind>(99);
        }) == start + "a field of unknown kind");
  CHECK(Altered([](Header* h) {
          h->fields[0].dtype = static_cast<proto::DType>(99);
        }) == start + "a field of unknown type");
  CHECK(Altered([](Header* h) { h->fields[1].rank = 7; }) ==
        start + "a field of impossible rank");
  CHECK(Altered([](Header* h) { h->fields[1].rank = 0; }) ==
        start + "a field of impossible rank");
  CHECK(Altered([](Header* h) { h->fields[0].shape[0] = ~0ull; }) ==
        start + "a field of impossible shape");
  CHECK(Altered([](Header* h) { h->fields[0].bytes += 4; }) ==
        start + "a field whose shape and size differ");
  const std::string outside = start + "a field that lies outside of the slot";
  CHECK(Altered([](Header* h) { h->fields[1].offset = 0; }) == outside);
  CHECK(Altered([](Header* h) { h->fields[1].offset = ~0ull; }) == outside);
  CHECK(Altered([](Header* h) { h->fields[1].offset += 1; }) == outside);
}

TEST_CASE("The slot reader refuses short slots", "[admin][slot_reader]") {
  proto::PeekChunk chunk;
  CHECK_THAT(Describe(std::vector<std::uint8_t>(4095), &chunk),
             HasCode(absl::StatusCode::kInternal));
  CHECK_FALSE(Describe({}, &chunk).ok());
}

TEST_CASE("Random headers never point the slot reader outside of the slot",
          "[admin][slot_reader]") {
  constexpr std::uint32_t kSeed = 20240611;
  CAPTURE(kSeed);
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
      REQUIRE(field.offset() + field.bytes() <= chunk.total_bytes());
    }
    REQUIRE(proto::kSlotHeaderBytes + chunk.total_bytes() <= slot.size());
  }
  CHECK(accepted > 0);
}

}  // namespace
}  // namespace forebay::admin
