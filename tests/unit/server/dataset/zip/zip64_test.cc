#include <cstdint>
#include <string>
#include <string_view>

#include "server/dataset/zip/zip_directory.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/zip/archive_records.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"

// Tests of archives whose numbers need more than 32 bits, or are written as if
// they needed more.

namespace forebay::dataset::zip {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kLarge = std::uint64_t{10} << 30;

void ExpectDamaged(std::string_view archive, std::string_view reason,
                   std::uint64_t base = 0) {
  const absl::Status status = Members(archive, base).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains(std::string(reason)));
}

std::string Zip64Field(std::string_view numbers) {
  return Number(1, 2) + Number(numbers.size(), 2) + std::string(numbers);
}

// Returns the end of an archive whose directory begins at byte kLarge.
std::string LargeArchive(const EntryRecord& entry) {
  const std::string directory = entry.Bytes();
  return directory +
         Eocd64Record{.directory_bytes = directory.size(),
                      .directory_offset = kLarge}
             .Bytes() +
         LocatorRecord{.eocd64_offset = kLarge + directory.size()}.Bytes() +
         EocdRecord{.directory_bytes = UINT32_MAX,
                    .directory_offset = UINT32_MAX}
             .Bytes();
}

TEST_CASE("The zip64 reader reads large numbers", "[zip][zip64]") {
  const std::uint64_t length = std::uint64_t{1} << 32;
  const std::string archive =
      LargeArchive({.extra = "zz" + Number(3, 2) + "???" +
                             Zip64Field(Number(length, 8) + Number(length, 8) +
                                        Number(length - 1, 8) + Number(0, 4)) +
                             "pad",
                    .compressed = UINT32_MAX,
                    .length = UINT32_MAX,
                    .disk = UINT16_MAX,
                    .header_offset = UINT32_MAX});
  const auto members = Members(archive, kLarge);
  REQUIRE_THAT(members, IsOk());
  REQUIRE(members->size() == 1u);
  CHECK((*members)[0].length == length);
  CHECK((*members)[0].compressed == length);
  CHECK((*members)[0].header_offset == length - 1);
}

// The Zip64 extra field has only the numbers that the header marks (APPNOTE
// 4.5.3).
TEST_CASE("The zip64 reader reads only the numbers that are marked",
          "[zip][zip64]") {
  const auto members =
      Members(LargeArchive({.extra = Zip64Field(Number(kLarge - 36, 8)),
                            .compressed = 5,
                            .length = 5,
                            .header_offset = UINT32_MAX}),
              kLarge);
  REQUIRE_THAT(members, IsOk());
  REQUIRE(members->size() == 1u);
  CHECK((*members)[0].length == 5u);
  CHECK((*members)[0].header_offset == kLarge - 36);
}

TEST_CASE("The zip64 reader refuses absurd numbers", "[zip][zip64]") {
  for (const std::uint64_t absurd :
       {UINT64_MAX, UINT64_MAX - 30, UINT64_MAX - 31, kLarge, kLarge - 31}) {
    const std::string number = Number(absurd, 8);
    ExpectDamaged(LargeArchive({.extra = Zip64Field(number + number),
                                .compressed = UINT32_MAX,
                                .length = UINT32_MAX,
                                .header_offset = 1}),
                  "does not lie before the directory", kLarge);
    ExpectDamaged(LargeArchive({.extra = Zip64Field(number),
                                .compressed = 1,
                                .length = 1,
                                .header_offset = UINT32_MAX}),
                  "does not lie before the directory", kLarge);
  }
  // The sum of these numbers would overflow.
  const std::string half = Number(std::uint64_t{1} << 63, 8);
  ExpectDamaged(LargeArchive({.extra = Zip64Field(half + half + half),
                              .compressed = UINT32_MAX,
                              .length = UINT32_MAX,
                              .header_offset = UINT32_MAX}),
                "does not lie before the directory", kLarge);
}

TEST_CASE("The zip64 reader refuses short fields", "[zip][zip64]") {
  for (const std::string& extra :
       {Zip64Field(""), Zip64Field(Number(5, 7)),
        Number(1, 2) + Number(9, 2) + Number(5, 8)}) {
    const absl::Status status =
        Members(LargeArchive({.extra = extra, .header_offset = UINT32_MAX}),
                kLarge)
            .status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(status.message(), Contains("field is"));
  }
  const auto none = Members(LargeArchive({.extra = Zip64Field("")}), kLarge);
  CHECK_THAT(none, IsOk());
}

std::string WithEocd64(const std::string& before, const Eocd64Record& end,
                       const LocatorRecord& locator) {
  return before + HeaderBytes("a") + EntryRecord().Bytes() + end.Bytes() +
         locator.Bytes() + EocdRecord().Bytes();
}

TEST_CASE("The zip64 reader finds end records that are longer",
          "[zip][zip64]") {
  for (const std::string& extensible :
       {std::string(1, 'x'), std::string(5000, 'x')}) {
    const std::string archive = WithEocd64("", {.extensible = extensible}, {});
    const auto members = Members(archive);
    REQUIRE_THAT(members, IsOk());
    CHECK(members->size() == 1u);
    // Python's zipfile cannot read such an archive after other bytes, either.
    ExpectDamaged("before" + archive, "there is no zip64 end record");
  }
}

TEST_CASE("The zip64 reader refuses end records that contradict the archive",
          "[zip][zip64]") {
  CHECK_THAT(Members(WithEocd64("", {}, {})), IsOk());
  CHECK_THAT(Members(WithEocd64("before", {}, {})), IsOk());
  ExpectDamaged(WithEocd64("", {}, {.eocd64_offset = 79}), "lies behind it");
  ExpectDamaged(WithEocd64("", {}, {.eocd64_offset = UINT64_MAX}),
                "lies behind it");
  ExpectDamaged(WithEocd64("", {}, {.eocd64_offset = 77}), "does not follow");
  ExpectDamaged(WithEocd64("", {.directory_bytes = 46}, {}), "does not follow");
  ExpectDamaged(WithEocd64("", {.directory_offset = 30}, {}),
                "does not follow");
  ExpectDamaged(
      WithEocd64("", {.directory_bytes = 79, .directory_offset = UINT64_MAX},
                 {}),
      "does not follow");
  ExpectDamaged(WithEocd64("", {.members_here = 65537, .members = 65537}, {}),
                "the directory has 1 members, but the end record says 65537");
  ExpectDamaged(
      LocatorRecord{.eocd64_offset = 0}.Bytes() + EocdRecord().Bytes(),
      "lies behind it");
}

}  // namespace
}  // namespace forebay::dataset::zip
