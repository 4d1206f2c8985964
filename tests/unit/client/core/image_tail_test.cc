#include "client/core/image_tail.h"

#include <cstdint>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::core {
namespace {

using tests::IsOk;

using proto::DType;

message::Tail Said(DType dtype, std::uint32_t channels, bool channels_last) {
  message::Tail said;
  said.dtype = static_cast<std::int32_t>(dtype);
  said.layout =
      channels_last ? message::ToImage::kNhwc : message::ToImage::kNchw;
  said.channels = channels;
  said.table.assign(channels * 256 * proto::SizeOf(dtype), '\x01');
  return said;
}

// Returns the header of a batch on a GPU: 2 images of 4 x 5 pixels, and their
// labels.
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

TEST_CASE("An image tail describes images as they will be",
          "[core][image_tail]") {
  for (const DType dtype : {DType::kUint8, DType::kFloat16, DType::kFloat32}) {
    ImageTail tail;
    REQUIRE_THAT(ImageTail::Create(Said(dtype, 3, false), &tail), IsOk());
    proto::BatchHeader header = Header(3);
    REQUIRE_THAT(tail.Describe(&header), IsOk());
    const proto::FieldLayout& image = header.fields[0];
    CHECK(image.dtype == dtype);
    CHECK(image.bytes == 120 * proto::SizeOf(dtype));
    CHECK(image.shape[0] == 2);
    CHECK(image.shape[1] == 3);
    CHECK(image.shape[2] == 4);
    CHECK(image.shape[3] == 5);
    CHECK(header.fields[1].dtype == DType::kInt64);
    CHECK(header.fields[1].bytes == 16);
  }
  ImageTail last;
  REQUIRE_THAT(ImageTail::Create(Said(DType::kBfloat16, 1, true), &last),
               IsOk());
  proto::BatchHeader header = Header(1);
  REQUIRE_THAT(last.Describe(&header), IsOk());
  CHECK(header.fields[0].shape[1] == 4);
  CHECK(header.fields[0].shape[3] == 1);
  CHECK(header.fields[0].bytes == 80);
}

TEST_CASE("An empty image tail leaves finished images alone",
          "[core][image_tail]") {
  ImageTail none;
  REQUIRE_THAT(ImageTail::Create({}, &none), IsOk());
  proto::BatchHeader header = Header(3);
  REQUIRE_THAT(none.Describe(&header), IsOk());
  CHECK(header.fields[0].dtype == DType::kUint8);
  CHECK(header.fields[0].shape[3] == 3);
}

TEST_CASE("The client refuses an image tail that makes no sense",
          "[core][image_tail]") {
  ImageTail tail;
  for (const auto& spoil : {+[](message::Tail& t) { t.channels = 2; },
                            +[](message::Tail& t) { t.channels = UINT32_MAX; },
                            +[](message::Tail& t) { t.dtype = 0; },
                            +[](message::Tail& t) { t.dtype = -1; },
                            // The elements of this type have 8 bytes.
                            +[](message::Tail& t) { t.dtype = 5; },
                            +[](message::Tail& t) { t.table.pop_back(); },
                            +[](message::Tail& t) { t.table.push_back(0); }}) {
    message::Tail said = Said(DType::kFloat32, 3, false);
    spoil(said);
    CHECK(ImageTail::Create(said, &tail).code == FOREBAY_INTERNAL);
  }
}

TEST_CASE("An image tail refuses images that it is not for",
          "[core][image_tail]") {
  ImageTail tail;
  REQUIRE_THAT(ImageTail::Create(Said(DType::kFloat32, 3, false), &tail),
               IsOk());
  for (const auto& spoil :
       {+[](proto::FieldLayout& f) { f.dtype = DType::kFloat32; },
        +[](proto::FieldLayout& f) { f.rank = 3; },
        +[](proto::FieldLayout& f) { f.shape[3] = 1; }}) {
    proto::BatchHeader header = Header(3);
    spoil(header.fields[0]);
    CHECK(tail.Describe(&header).code == FOREBAY_INTERNAL);
  }
}

}  // namespace
}  // namespace forebay::client::core
