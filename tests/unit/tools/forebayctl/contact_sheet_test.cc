#include "tools/forebayctl/contact_sheet.h"

#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace forebay::ctl {
namespace {

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

// The color of a test picture at (x, y) of image `i`.
Rgb Expected(int i, int x, int y) { return {10 * i + x, 100 + y, 200 + i}; }

TEST(ContactSheetTest, NormalizedFloatsInNchwBecomePictures) {
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
  Put<std::int64_t>(&batch, 1, 2, 17);  // no such class

  const auto sheet = DrawContactSheet(batch, 64);
  ASSERT_TRUE(sheet.ok()) << sheet.status();
  EXPECT_EQ(sheet->columns, 2);
  EXPECT_EQ(sheet->labels, (std::vector<std::string>{"dog", "cat", "17"}));
  ASSERT_EQ(sheet->picture.width, 2 + 2 * (4 + 2));
  ASSERT_EQ(sheet->picture.height, 2 + 2 * (2 + 2));
  for (int i = 0; i < 3; ++i) {
    const int left = 2 + i % 2 * 6;
    const int top = 2 + i / 2 * 4;
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 4; ++x) {
        EXPECT_EQ(At(sheet->picture, left + x, top + y), Expected(i, x, y));
      }
    }
  }
  // The gaps, and the place of a fourth image.
  EXPECT_EQ(At(sheet->picture, 0, 0), kBackground);
  EXPECT_EQ(At(sheet->picture, 6, 2), kBackground);
  EXPECT_EQ(At(sheet->picture, 8, 6), kBackground);
}

TEST(ContactSheetTest, BytesInNhwc) {
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
  ASSERT_TRUE(sheet.ok()) << sheet.status();
  EXPECT_EQ(At(sheet->picture, 2 + 3, 2 + 1), Expected(5, 3, 1));
  EXPECT_TRUE(sheet->labels.empty());
}

TEST(ContactSheetTest, GrayHalvesAreShownGray) {
  PeekedBatch batch;
  AddField("image", proto::FLOAT16, 2, {1, 1, 1, 1}, &batch);
  Put<std::uint16_t>(&batch, 0, 0, 0x5640);  // 100
  const auto sheet = DrawContactSheet(batch, 1);
  ASSERT_TRUE(sheet.ok()) << sheet.status();
  EXPECT_EQ(At(sheet->picture, 2, 2), (Rgb{100, 100, 100}));
}

TEST(ContactSheetTest, ShowsTheFirstOfManyAndThinsLargeOnes) {
  PeekedBatch many;
  AddField("image", proto::UINT8, 1, {1000, 1, 1, 1}, &many);
  const auto first = DrawContactSheet(many, 9);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->columns, 3);
  EXPECT_EQ(first->picture.height, 2 + 3 * (1 + 2));

  PeekedBatch large;
  AddField("image", proto::UINT8, 1, {1, 1, 2, 20000}, &large);
  const auto thinned = DrawContactSheet(large, 1);
  ASSERT_TRUE(thinned.ok());
  EXPECT_LE(thinned->picture.width, 20000 / 2 + 4);
}

TEST(ContactSheetTest, RefusesWhatIsNoPicture) {
  PeekedBatch none;
  AddField("label", proto::INT64, 8, {3}, &none);
  EXPECT_EQ(DrawContactSheet(none, 64).status().message(),
            "the batch has no images to show");
  PeekedBatch two;
  AddField("image", proto::UINT8, 1, {1, 2, 4, 4}, &two);
  EXPECT_EQ(DrawContactSheet(two, 64).status().message(),
            "images of 2 channels cannot be shown as pictures");
  PeekedBatch empty;
  AddField("image", proto::UINT8, 1, {0, 3, 4, 4}, &empty);
  EXPECT_FALSE(DrawContactSheet(empty, 64).ok());
  PeekedBatch lying;
  AddField("image", proto::UINT8, 1, {1, 3, 4, 4}, &lying);
  lying.data.resize(40);
  EXPECT_FALSE(DrawContactSheet(lying, 64).ok());
}

TEST(ContactSheetTest, WritesAPng) {
  Picture picture;
  picture.width = 3;
  picture.height = 2;
  for (int i = 0; i < 18; ++i) picture.rgb.push_back(10 * i);
  const std::string path = testing::TempDir() + "sheet.png";
  ASSERT_TRUE(WritePng(picture, path).ok());

  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0);
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> rgb(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr), 0);
  EXPECT_EQ(rgb, picture.rgb);

  EXPECT_EQ(WritePng(picture, "/nonexistent/sheet.png").message(),
            "/nonexistent/sheet.png cannot be written: No such file or "
            "directory");
}

TEST(ContactSheetTest, APngThatCannotBeWrittenRemovesNothing) {
  Picture picture;
  picture.width = picture.height = 1;
  picture.rgb.assign(3, 0);
  // Not the device itself: it would be gone if this failed.
  const std::string path = testing::TempDir() + "full.png";
  ASSERT_EQ(symlink("/dev/full", path.c_str()), 0);
  EXPECT_EQ(WritePng(picture, path).message(),
            path + " cannot be written: No space left on device");
  EXPECT_EQ(unlink(path.c_str()), 0);
}

}  // namespace
}  // namespace forebay::ctl
