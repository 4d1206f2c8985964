#include "server/dataset/hdf5/filters.h"

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/status.h"
#include "server/dataset/hdf5/checksum.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::Contains;
using tests::IsOk;

constexpr ChunkFilter kGzip = {FilterKind::kDeflate};
constexpr ChunkFilter kLzf = {FilterKind::kLzf};
constexpr ChunkFilter kFletcher = {FilterKind::kFletcher32};

std::string Gzip(const std::string& plain) {
  uLongf bytes = compressBound(static_cast<uLong>(plain.size()));
  std::string compressed(bytes, '\0');
  compress(reinterpret_cast<Bytef*>(compressed.data()), &bytes,
           AsBytes(plain).data(), static_cast<uLong>(plain.size()));
  compressed.resize(bytes);
  return compressed;
}

std::string Summed(std::string data) {
  const std::uint32_t sum = Fletcher32(AsBytes(data));
  for (int i = 0; i < 4; ++i) data += static_cast<char>(sum >> (8 * i));
  return data;
}

absl::StatusOr<std::string> Undo(const std::vector<ChunkFilter>& filters,
                                 std::uint32_t mask, std::string_view chunk,
                                 std::uint64_t bytes) {
  std::vector<std::uint8_t> room(RoomToUnfilter(filters, mask, bytes));
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes found,
      Unfilter(filters, mask, AsBytes(chunk), bytes, absl::MakeSpan(room)));
  return std::string(found.begin(), found.end());
}

std::string ErrorOf(const std::vector<ChunkFilter>& filters,
                    std::string_view chunk, std::uint64_t bytes) {
  return Undo(filters, 0, chunk, bytes).status().ToString();
}

TEST_CASE("The HDF5 checksums are those of the format", "[hdf5][filters]") {
  CHECK(Lookup3(AsBytes("")) == 0xdeadbeefu);
  CHECK(Lookup3(AsBytes("Four score and seven years ago")) == 0x17770551u);
  CHECK(Fletcher32(AsBytes("abcde")) == 0x4ff029c7u);
}

TEST_CASE("HDF5 filters are undone from the last on", "[hdf5][filters]") {
  const std::string plain(3000, 'x');
  const auto found =
      Undo({kGzip, kFletcher}, 0, Summed(Gzip(plain)), plain.size());
  REQUIRE_THAT(found, IsOk());
  CHECK(*found == plain);
  const auto other =
      Undo({kFletcher, kGzip}, 0, Gzip(Summed(plain)), plain.size());
  REQUIRE_THAT(other, IsOk());
  CHECK(*other == plain);
}

TEST_CASE("HDF5 filters are left out by their bit in the mask",
          "[hdf5][filters]") {
  const std::string plain = Summed("abcd");
  const auto found = Undo({kGzip, kFletcher}, 1, plain, 4);
  REQUIRE_THAT(found, IsOk());
  CHECK(*found == "abcd");
}

TEST_CASE("The HDF5 shuffle filter is undone with a rest of bytes",
          "[hdf5][filters]") {
  const auto found = Undo({{FilterKind::kShuffle, 2}}, 0, "acebdfg", 7);
  REQUIRE_THAT(found, IsOk());
  CHECK(*found == "abcdefg");
}

// A loop over the bytes of one such element takes seconds, and there may be
// many chunks.
TEST_CASE("An HDF5 chunk that is shorter than an element is not shuffled",
          "[hdf5][filters]") {
  for (int chunk = 0; chunk < 10000; ++chunk) {
    const auto found = Undo({{FilterKind::kShuffle, UINT32_MAX}}, 0, "abc", 3);
    REQUIRE_THAT(found, IsOk());
    REQUIRE(*found == "abc");
  }
}

// libhdf5 writes such a filter for references, but then does not shuffle them.
TEST_CASE("An HDF5 shuffle filter without parameters may only be left out",
          "[hdf5][filters]") {
  const std::string message{2, 2, 2, 0, 1, 0, 0, 0, 1,
                            0, 1, 0, 1, 0, 4, 0, 0, 0};
  const auto filters = ParseFilters(AsBytes(message));
  REQUIRE_THAT(filters, IsOk());
  const std::string plain = "abcdefg";
  const auto found = Undo(*filters, 1, Gzip(plain), plain.size());
  REQUIRE_THAT(found, IsOk());
  CHECK(*found == plain);
  CHECK_THAT(ErrorOf(*filters, Gzip(plain), plain.size()),
             Contains("its filters contradict themselves"));
}

TEST_CASE("The HDF5 LZF filter refers to bytes that it makes",
          "[hdf5][filters]") {
  // The LZF data has three literals, then six bytes from two bytes back.
  const std::string compressed = {2, 'a', 'b', 'c', '\x80', 1};
  const auto found = Undo({kLzf}, 0, compressed, 9);
  REQUIRE_THAT(found, IsOk());
  CHECK(*found == "abcbcbcbc");
}

TEST_CASE("Damaged data in an HDF5 filter is an error", "[hdf5][filters]") {
  CHECK_THAT(ErrorOf({kGzip}, "no zlib stream", 9),
             Contains("its deflated data is damaged"));
  CHECK_THAT(ErrorOf({kGzip}, "", 9), Contains("its deflated data is damaged"));
  const std::string compressed = Gzip(std::string(3000, 'x'));
  CHECK_THAT(
      ErrorOf({kGzip}, compressed.substr(0, compressed.size() - 1), 3000),
      Contains("its deflated data is damaged"));
  CHECK_THAT(ErrorOf({kGzip}, compressed, 2999),
             Contains("a chunk has 3000 bytes instead of 2999"));
  CHECK_THAT(ErrorOf({kLzf}, std::string{'\x20', 5}, 9),
             Contains("its LZF data is damaged"));
  CHECK_THAT(ErrorOf({kLzf}, std::string{5, 'a'}, 9),
             Contains("its LZF data is damaged"));
  CHECK_THAT(ErrorOf({kFletcher}, "abcdefgh", 4), Contains("its checksum is"));
  CHECK_THAT(ErrorOf({kFletcher}, "abc", 4), Contains("has no checksum"));
}

// The data would decompress to a thousand times the bytes of the shape.
TEST_CASE("An HDF5 filter decompresses no more than the shape says",
          "[hdf5][filters]") {
  const std::string bomb = Gzip(std::string(std::size_t{1} << 22, '\0'));
  CHECK_THAT(ErrorOf({kGzip}, bomb, 4096),
             Contains("its deflated data is damaged"));
}

// The unknown filter would change the bytes, so without it they would be wrong.
TEST_CASE("An HDF5 filter that is not known is not skipped",
          "[hdf5][filters]") {
  const ChunkFilter other = {static_cast<FilterKind>(4)};
  CHECK_THAT(ErrorOf({other}, "abcd", 4),
             Contains("its filters contradict themselves"));
  CHECK_FALSE(IsFilterKind(4));
  CHECK_FALSE(IsFilterKind(65536 + 1));
  CHECK(IsFilterKind(32000));
}

TEST_CASE("Other HDF5 filters are named in the error", "[hdf5][filters]") {
  // A filter pipeline message, version 2, with one filter: its number, its
  // name's length, flags, parameters (HDF5 File Format Specification v3.0,
  // IV.A.2.l).
  const std::string message{2, 1, '\x01', '\x7d', 6,   0,   0,   0,
                            0, 0, 'b',    'l',    'o', 's', 'c', 0};
  CHECK_THAT(ParseFilters(AsBytes(message)).status().ToString(),
             Contains("is written with the filter 32001 (blosc)"));
  CHECK_FALSE(ParseFilters(AsBytes("")).ok());
}

}  // namespace
}  // namespace forebay::dataset::hdf5
