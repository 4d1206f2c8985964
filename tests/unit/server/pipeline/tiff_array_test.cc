#include "server/pipeline/tiff_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/pipeline/array.h"

namespace forebay::pipeline {
namespace {

using Bytes = std::vector<std::uint8_t>;
using testing::HasSubstr;

constexpr char kFolder[] = "tests/golden/tiff_arrays/";

Bytes File(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// A line of golden.txt: what tifffile reads.
struct Golden {
  std::string name;
  std::string description;  // as Describe has it
  std::uint32_t crc = 0;    // of the elements
};

std::vector<Golden> Goldens() {
  std::ifstream file(std::string(kFolder) + "golden.txt");
  std::vector<Golden> goldens;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Golden golden;
    std::string dtype;
    std::string shape;
    words >> golden.name >> dtype >> shape >> std::hex >> golden.crc;
    EXPECT_TRUE(words) << line;
    for (std::size_t at = 0; (at = shape.find(',', at)) != shape.npos; at += 2)
      shape.replace(at, 1, ", ");
    golden.description = absl::StrCat(dtype, " (", shape, ")");
    goldens.push_back(golden);
  }
  EXPECT_GT(goldens.size(), 25u);
  return goldens;
}

std::uint32_t CrcOf(absl::Span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(
      crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
}

absl::Status StatusOf(const Bytes& file, const WorkspaceLimits& limits = {}) {
  Workspace workspace(limits);
  const absl::Status typed = TypeOfTiff(file, limits).status();
  absl::Status read = ReadTiff(file, workspace).status();
  if (!typed.ok()) {
    EXPECT_EQ(read, typed);
  }
  return read;
}

std::string Refusal(const Bytes& file) {
  return std::string(StatusOf(file).message());
}

// Sets a number of the first directory of a small-endian TIFF that is no
// BigTIFF.
void SetTag(Bytes* file, std::uint16_t tag, std::uint32_t value) {
  const auto number = [&](std::size_t at, int bytes) {
    std::uint32_t found = 0;
    for (int i = bytes; i-- > 0;) found = found << 8 | (*file)[at + i];
    return found;
  };
  std::size_t at = number(4, 4);
  const std::uint32_t count = number(at, 2);
  at += 2;
  for (std::uint32_t i = 0; i < count; ++i, at += 12) {
    if (number(at, 2) != tag) continue;
    (*file)[at + 2] = 4;  // of 32 bits
    for (int k = 0; k < 4; ++k)
      (*file)[at + 8 + k] = static_cast<std::uint8_t>(value >> (8 * k));
    return;
  }
  FAIL() << "no tag " << tag;
}

TEST(TiffArrayTest, SamplesAreTifffiles) {
  Workspace workspace({});
  for (const Golden& golden : Goldens()) {
    SCOPED_TRACE(golden.name);
    const Bytes file = File(golden.name);
    EXPECT_TRUE(IsTiff(file));
    const auto type = TypeOfTiff(file, {});
    ASSERT_TRUE(type.ok()) << type.status();
    EXPECT_EQ(Describe(*type), golden.description);
    const auto array = ReadTiff(file, workspace);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->type.shape, type->shape);
    ASSERT_EQ(array->items.size(), type->bytes);
    EXPECT_EQ(CrcOf(array->items), golden.crc);
    Bytes out(type->bytes);
    ASSERT_TRUE(ReadTiff(file, workspace, absl::MakeSpan(out)).ok());
    EXPECT_EQ(CrcOf(out), golden.crc);
  }
}

TEST(TiffArrayTest, AFileMayLieWhereTheWorkspaceUnpacks) {
  Workspace workspace({});
  const Bytes file = File("uint16_tiles.tif");
  const auto room = workspace.RoomToUnpack(file.size());
  ASSERT_TRUE(room.ok());
  std::copy(file.begin(), file.end(), room->begin());
  Bytes out(37 * 23 * 2);
  ASSERT_TRUE(ReadTiff(*room, workspace, absl::MakeSpan(out)).ok());
  EXPECT_EQ(CrcOf(out), 0xf9caacf3);
}

TEST(TiffArrayTest, WhatIsNotReadIsNamed) {
  EXPECT_EQ(Refusal(File("unread_bool.tif")),
            "is a TIFF image with samples of 1 bits and format 1, which are "
            "not read as an array");
  EXPECT_THAT(Refusal(File("unread_complex.tif")),
              HasSubstr("samples of 64 bits and format 6"));
  EXPECT_THAT(Refusal(File("unread_zstd.tif")),
              HasSubstr("samples compressed by method 50000"));
  EXPECT_THAT(Refusal(File("unread_jpeg.tif")),
              HasSubstr("samples compressed by method 7"));
  EXPECT_TRUE(absl::IsUnimplemented(StatusOf(File("unread_bool.tif"))));
  Bytes file = File("uint16_rgb.tif");
  SetTag(&file, 262, 6);
  EXPECT_THAT(Refusal(file), HasSubstr("with YCbCr colors"));
}

TEST(TiffArrayTest, TruncatedFilesAreDamaged) {
  for (const Golden& golden : Goldens()) {
    const Bytes whole = File(golden.name);
    for (std::size_t length = 0; length + 1 < whole.size();
         length += 1 + length / 16) {
      SCOPED_TRACE(golden.name + " " + std::to_string(length));
      const Bytes cut(whole.begin(),
                      whole.begin() + static_cast<std::ptrdiff_t>(length));
      Workspace workspace({});
      const auto read = ReadTiff(cut, workspace);
      // Tags behind the pixels may be missing: not all of them are needed.
      if (read.ok()) {
        EXPECT_EQ(CrcOf(read->items), golden.crc);
      } else {
        EXPECT_TRUE(absl::IsDataLoss(read.status())) << read.status();
      }
    }
  }
}

TEST(TiffArrayTest, HugeSizesTakeNoMemory) {
  constexpr std::uint16_t kWidth = 256;
  constexpr std::uint16_t kHeight = 257;
  const Bytes file = File("uint16_lzw.tif");
  for (const std::uint32_t size : {0U, 1U << 14, 1U << 20, ~0U}) {
    for (const std::uint32_t other : {23U, 1U << 13, ~0U}) {
      SCOPED_TRACE(testing::Message() << size << " " << other);
      Bytes hostile = file;
      SetTag(&hostile, kWidth, other);
      SetTag(&hostile, kHeight, size);
      const absl::Status status = StatusOf(hostile);
      EXPECT_TRUE(absl::IsDataLoss(status) || absl::IsResourceExhausted(status))
          << status;
    }
  }
  Bytes tiles = File("uint16_tiles.tif");
  SetTag(&tiles, 322, 1 << 30);
  SetTag(&tiles, 323, 1 << 30);
  EXPECT_FALSE(StatusOf(tiles).ok());
  // One of many samples a pixel.
  Bytes wide = File("uint16.tif");
  SetTag(&wide, 277, 65535);
  EXPECT_FALSE(StatusOf(wide).ok());
}

TEST(TiffArrayTest, LimitsAreThoseOfTheWorkspace) {
  const Bytes file = File("uint16.tif");
  EXPECT_TRUE(
      absl::IsResourceExhausted(StatusOf(file, {.max_pixels = 37 * 23 - 1})));
  EXPECT_TRUE(StatusOf(file, {.max_pixels = 37 * 23}).ok());
  EXPECT_TRUE(
      absl::IsResourceExhausted(StatusOf(file, {.scratch_bytes = 1 << 16})));
  Workspace workspace({});
  Bytes out(10);
  EXPECT_TRUE(absl::IsDataLoss(ReadTiff(file, workspace, absl::MakeSpan(out))));
}

TEST(TiffArrayTest, OtherFilesAreNone) {
  EXPECT_FALSE(IsTiff({}));
  const Bytes npy = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  EXPECT_FALSE(IsTiff(npy));
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(npy)));
}

}  // namespace
}  // namespace forebay::pipeline
