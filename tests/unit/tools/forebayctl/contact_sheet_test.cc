#include "tools/forebayctl/contact_sheet.h"

#include <png.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/temp_dir.h"

namespace forebay::ctl {
namespace {

using tests::IsOk;

using Rgb = std::array<int, 3>;

constexpr Rgb kBackground = {32, 32, 32};

void AddField(const std::string& kind, proto::DataType dtype,
              std::uint64_t element, const std::vector<std::uint64_t>& shape,
              PeekedBatch* batch) {
  proto::PeekChunk::Field* field = batch->layout.add_fields();
  field->set_name(kind);
  field->set_kind(kind);
  field->set_dtype(dtype);
  std::uint64_t bytes = element;
  for (const std::uint64_t extent : shape) {
    field->add_shape(extent);
    bytes *= extent;
  }
  field->set_offset(batch->data.size());
  field->set_bytes(bytes);
  batch->data.resize(batch->data.size() + bytes);
}

template <typename T>
void Put(PeekedBatch* batch, int field, std::uint64_t index, T value) {
  std::memcpy(batch->data.data() + batch->layout.fields(field).offset() +
                  index * sizeof(T),
              &value, sizeof(T));
}

Rgb At(const Picture& picture, std::uint32_t x, std::uint32_t y) {
  const std::uint8_t* pixel =
      picture.rgb.data() + 3 * (std::size_t{y} * picture.width + x);
  return {pixel[0], pixel[1], pixel[2]};
}

// Returns the color of a test picture at (x, y) of image `i`.
Rgb Expected(int i, int x, int y) { return {10 * i + x, 100 + y, 200 + i}; }

TEST_CASE("A contact sheet makes pictures of normalized floats in NCHW",
          "[forebayctl][contact_sheet]") {
  PeekedBatch batch;
  AddField("image", proto::FLOAT32, 4, {3, 3, 2, 4}, &batch);
  AddField("label", proto::INT64, 8, {3}, &batch);
  proto::ToDtype* to_dtype =
      batch.layout.mutable_pipeline()->add_ops()->mutable_to_dtype();
  to_dtype->set_dtype(proto::FLOAT32);
  to_dtype->set_scale(true);
  proto::Normalize* normalize =
      batch.layout.mutable_pipeline()->add_ops()->mutable_normalize();
  const double mean[] = {0.5, 0.25, 0.75};
  const double std[] = {0.5, 0.25, 0.125};
  for (int c = 0; c < 3; ++c) {
    normalize->add_mean(mean[c]);
    normalize->add_std(std[c]);
  }
  for (int i = 0; i < 3; ++i) {
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < 2; ++y) {
        for (int x = 0; x < 4; ++x) {
          const double value =
              (Expected(i, x, y)[c] / 255.0 - mean[c]) / std[c];
          Put(&batch, 0, ((i * 3 + c) * 2 + y) * 4 + x,
              static_cast<float>(value));
        }
      }
    }
  }
  batch.layout.add_classes("cat");
  batch.layout.add_classes("dog");
  Put<std::int64_t>(&batch, 1, 0, 1);
  Put<std::int64_t>(&batch, 1, 1, 0);
  Put<std::int64_t>(&batch, 1, 2, 17);  // there is no class with this number

  const auto sheet = DrawContactSheet(batch, 64);
  REQUIRE_THAT(sheet, IsOk());
  CHECK(sheet->columns == 2);
  CHECK(sheet->labels == std::vector<std::string>{"dog", "cat", "17"});
  REQUIRE(sheet->picture.width == 2 + 2 * (4 + 2));
  REQUIRE(sheet->picture.height == 2 + 2 * (2 + 2));
  for (int i = 0; i < 3; ++i) {
    const int left = 2 + i % 2 * 6;
    const int top = 2 + i / 2 * 4;
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 4; ++x) {
        CHECK(At(sheet->picture, left + x, top + y) == Expected(i, x, y));
      }
    }
  }
  // The gaps between images, and the empty place of a fourth image, show the
  // background.
  CHECK(At(sheet->picture, 0, 0) == kBackground);
  CHECK(At(sheet->picture, 6, 2) == kBackground);
  CHECK(At(sheet->picture, 8, 6) == kBackground);
}

TEST_CASE("A contact sheet makes pictures of bytes in NHWC",
          "[forebayctl][contact_sheet]") {
  PeekedBatch batch;
  AddField("image", proto::UINT8, 1, {1, 2, 4, 3}, &batch);
  batch.layout.mutable_pipeline()->add_ops()->mutable_to_image()->set_layout(
      proto::ToImage::NHWC);
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 4; ++x) {
      for (int c = 0; c < 3; ++c) {
        Put<std::uint8_t>(&batch, 0, (y * 4 + x) * 3 + c, Expected(5, x, y)[c]);
      }
    }
  }
  const auto sheet = DrawContactSheet(batch, 64);
  REQUIRE_THAT(sheet, IsOk());
  CHECK(At(sheet->picture, 2 + 3, 2 + 1) == Expected(5, 3, 1));
  CHECK(sheet->labels.empty());
}

TEST_CASE("A contact sheet shows gray half-precision floats in gray",
          "[forebayctl][contact_sheet]") {
  PeekedBatch batch;
  AddField("image", proto::FLOAT16, 2, {1, 1, 1, 1}, &batch);
  Put<std::uint16_t>(&batch, 0, 0, 0x5640);  // 100.0
  const auto sheet = DrawContactSheet(batch, 1);
  REQUIRE_THAT(sheet, IsOk());
  CHECK(At(sheet->picture, 2, 2) == Rgb{100, 100, 100});
}

TEST_CASE("A contact sheet shows the first of many images and thins large ones",
          "[forebayctl][contact_sheet]") {
  PeekedBatch many;
  AddField("image", proto::UINT8, 1, {1000, 1, 1, 1}, &many);
  const auto first = DrawContactSheet(many, 9);
  REQUIRE_THAT(first, IsOk());
  CHECK(first->columns == 3);
  CHECK(first->picture.height == 2 + 3 * (1 + 2));

  PeekedBatch large;
  AddField("image", proto::UINT8, 1, {1, 1, 2, 20000}, &large);
  const auto thinned = DrawContactSheet(large, 1);
  REQUIRE_THAT(thinned, IsOk());
  CHECK(thinned->picture.width <= 20000 / 2 + 4);
}

TEST_CASE("A contact sheet has at most 8192 pixels a side",
          "[forebayctl][contact_sheet]") {
  struct Case {
    std::uint64_t count, height, width;
  };
  for (const Case& one : std::vector<Case>{{1, 1, 8188},
                                           {1, 1, 8189},
                                           {1, 1, 100'000},
                                           {1, 100'000, 3},
                                           {4, 1, 8200},
                                           {256, 1, 1022}}) {
    CAPTURE(one.count, one.height, one.width);
    PeekedBatch batch;
    AddField("image", proto::UINT8, 1, {one.count, 1, one.height, one.width},
             &batch);
    const auto sheet = DrawContactSheet(batch, one.count);
    REQUIRE_THAT(sheet, IsOk());
    CHECK(sheet->picture.width <= 8192);
    CHECK(sheet->picture.height <= 8192);
    CHECK(std::max(sheet->picture.width, sheet->picture.height) > 4096);
  }
}

TEST_CASE("A contact sheet refuses what is not a picture",
          "[forebayctl][contact_sheet]") {
  PeekedBatch none;
  AddField("label", proto::INT64, 8, {3}, &none);
  CHECK(DrawContactSheet(none, 64).status().message() ==
        "the batch has no images to show");
  PeekedBatch two;
  AddField("image", proto::UINT8, 1, {1, 2, 4, 4}, &two);
  CHECK(DrawContactSheet(two, 64).status().message() ==
        "images of 2 channels cannot be shown as pictures");
  PeekedBatch empty;
  AddField("image", proto::UINT8, 1, {0, 3, 4, 4}, &empty);
  CHECK_FALSE(DrawContactSheet(empty, 64).ok());
  PeekedBatch lying;
  AddField("image", proto::UINT8, 1, {1, 3, 4, 4}, &lying);
  lying.data.resize(40);
  CHECK_FALSE(DrawContactSheet(lying, 64).ok());
}

TEST_CASE("A contact sheet is written as a PNG",
          "[forebayctl][contact_sheet]") {
  Picture picture;
  picture.width = 3;
  picture.height = 2;
  for (int i = 0; i < 18; ++i) picture.rgb.push_back(10 * i);
  const std::string path = tests::TempDir() + "sheet.png";
  REQUIRE_THAT(WritePng(picture, path), IsOk());

  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&image, path.c_str()) != 0);
  CHECK(image.width == 3);
  CHECK(image.height == 2);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> rgb(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr) != 0);
  CHECK(rgb == picture.rgb);

  CHECK(WritePng(picture, "/nonexistent/sheet.png").message() ==
        "/nonexistent/sheet.png cannot be written: No such file or "
        "directory");
}

TEST_CASE("A contact sheet whose PNG cannot be written removes nothing",
          "[forebayctl][contact_sheet]") {
  Picture picture;
  picture.width = picture.height = 1;
  picture.rgb.assign(3, 0);
  // The path is a symbolic link, because a failure of this test would delete
  // the device itself.
  const std::string path = tests::TempDir() + "full.png";
  REQUIRE(symlink("/dev/full", path.c_str()) == 0);
  CHECK(WritePng(picture, path).message() ==
        path + " cannot be written: No space left on device");
  CHECK(unlink(path.c_str()) == 0);
}

}  // namespace
}  // namespace forebay::ctl
