#include "server/pipeline/tiff_array.h"

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
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using Bytes = std::vector<std::uint8_t>;

constexpr char kFolder[] = "tests/golden/tiff_arrays/";

Bytes File(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  CAPTURE(name);
  CHECK(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A line of golden.txt: what tifffile reads in a file.
struct Golden {
  std::string name;
  std::string description;  // as Describe() gives it
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
    CAPTURE(line);
    CHECK(words);
    for (std::size_t at = 0; (at = shape.find(',', at)) != shape.npos; at += 2)
      shape.replace(at, 1, ", ");
    golden.description = absl::StrCat(dtype, " (", shape, ")");
    goldens.push_back(golden);
  }
  CHECK(goldens.size() > 25u);
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
    CHECK(read == typed);
  }
  return read;
}

std::string Refusal(const Bytes& file) {
  return std::string(StatusOf(file).message());
}

// Sets a tag's value in the first directory of a little-endian TIFF file that
// is not a BigTIFF (TIFF 6.0 section 2).
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
    (*file)[at + 2] = 4;  // type LONG, of 32 bits
    for (int k = 0; k < 4; ++k)
      (*file)[at + 8 + k] = static_cast<std::uint8_t>(value >> (8 * k));
    return;
  }
  FAIL("no tag " << tag);
}

TEST_CASE("Samples of a TIFF array are the same as tifffile's",
          "[pipeline][tiff_array]") {
  Workspace workspace({});
  for (const Golden& golden : Goldens()) {
    INFO(golden.name);
    const Bytes file = File(golden.name);
    CHECK(IsTiff(file));
    const auto type = TypeOfTiff(file, {});
    REQUIRE_THAT(type, IsOk());
    CHECK(Describe(*type) == golden.description);
    const auto array = ReadTiff(file, workspace);
    REQUIRE_THAT(array, IsOk());
    CHECK(array->type.shape == type->shape);
    REQUIRE(array->items.size() == type->bytes);
    CHECK(CrcOf(array->items) == golden.crc);
    Bytes out(type->bytes);
    REQUIRE_THAT(ReadTiff(file, workspace, absl::MakeSpan(out)), IsOk());
    CHECK(CrcOf(out) == golden.crc);
  }
}

TEST_CASE("A TIFF file may lie where the workspace decompresses",
          "[pipeline][tiff_array]") {
  Workspace workspace({});
  const Bytes file = File("uint16_tiles.tif");
  const auto room = workspace.RoomToDecompress(file.size());
  REQUIRE_THAT(room, IsOk());
  std::copy(file.begin(), file.end(), room->begin());
  Bytes out(37 * 23 * 2);
  REQUIRE_THAT(ReadTiff(*room, workspace, absl::MakeSpan(out)), IsOk());
  CHECK(CrcOf(out) == 0xf9caacf3);
}

TEST_CASE("The TIFF array reader names what it does not read",
          "[pipeline][tiff_array]") {
  CHECK(Refusal(File("unread_bool.tif")) ==
        "is a TIFF image with samples of 1 bits and format 1, which are "
        "not read as an array");
  CHECK_THAT(Refusal(File("unread_complex.tif")),
             Contains("samples of 64 bits and format 6"));
  CHECK_THAT(Refusal(File("unread_zstd.tif")),
             Contains("samples compressed by method 50000"));
  CHECK_THAT(Refusal(File("unread_jpeg.tif")),
             Contains("samples compressed by method 7"));
  CHECK_THAT(StatusOf(File("unread_bool.tif")),
             HasCode(absl::StatusCode::kUnimplemented));
  Bytes file = File("uint16_rgb.tif");
  SetTag(&file, 262, 6);
  CHECK_THAT(Refusal(file), Contains("with YCbCr colors"));
}

TEST_CASE("The TIFF array reader takes truncated files for damaged",
          "[pipeline][tiff_array]") {
  for (const Golden& golden : Goldens()) {
    const Bytes whole = File(golden.name);
    for (std::size_t length = 0; length + 1 < whole.size();
         length += 1 + length / 16) {
      INFO(golden.name + " " + std::to_string(length));
      const Bytes cut(whole.begin(),
                      whole.begin() + static_cast<std::ptrdiff_t>(length));
      Workspace workspace({});
      const auto read = ReadTiff(cut, workspace);
      // A file may lack tags behind the pixels, as not all of them are needed.
      if (read.ok()) {
        CHECK(CrcOf(read->items) == golden.crc);
      } else {
        CHECK_THAT(read, HasCode(absl::StatusCode::kDataLoss));
      }
    }
  }
}

TEST_CASE("Huge sizes in a TIFF array's file take no memory",
          "[pipeline][tiff_array]") {
  constexpr std::uint16_t kWidth = 256;
  constexpr std::uint16_t kHeight = 257;
  const Bytes file = File("uint16_lzw.tif");
  for (const std::uint32_t size : {0U, 1U << 14, 1U << 20, ~0U}) {
    for (const std::uint32_t other : {23U, 1U << 13, ~0U}) {
      INFO(size << " " << other);
      Bytes hostile = file;
      SetTag(&hostile, kWidth, other);
      SetTag(&hostile, kHeight, size);
      const absl::Status status = StatusOf(hostile);
      CAPTURE(status);
      CHECK((absl::IsDataLoss(status) || absl::IsResourceExhausted(status)));
    }
  }
  Bytes tiles = File("uint16_tiles.tif");
  SetTag(&tiles, 322, 1 << 30);
  SetTag(&tiles, 323, 1 << 30);
  CHECK_FALSE(StatusOf(tiles).ok());
  // The image then says that a pixel has 65535 samples.
  Bytes wide = File("uint16.tif");
  SetTag(&wide, 277, 65535);
  CHECK_FALSE(StatusOf(wide).ok());
}

TEST_CASE("The limits of a TIFF array are those of the workspace",
          "[pipeline][tiff_array]") {
  const Bytes file = File("uint16.tif");
  CHECK_THAT(StatusOf(file, {.max_pixels = 37 * 23 - 1}),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(StatusOf(file, {.max_pixels = 37 * 23}), IsOk());
  CHECK_THAT(StatusOf(file, {.scratch_bytes = 1 << 16}),
             HasCode(absl::StatusCode::kResourceExhausted));
  Workspace workspace({});
  Bytes out(10);
  CHECK_THAT(ReadTiff(file, workspace, absl::MakeSpan(out)),
             HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("The TIFF array reader does not take other files for TIFF",
          "[pipeline][tiff_array]") {
  CHECK_FALSE(IsTiff({}));
  const Bytes npy = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  CHECK_FALSE(IsTiff(npy));
  CHECK_THAT(StatusOf(npy), HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::pipeline
