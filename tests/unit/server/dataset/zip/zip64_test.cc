#include <cstdint>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/zip/zip_directory.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"
#include "tests/unit/server/dataset/zip/made_archive.h"

// Archives whose numbers need more than 32 bits, or are written as if they did.

namespace forebay::dataset::zip {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kLarge = std::uint64_t{10} << 30;

void ExpectDamaged(std::string_view archive, std::string_view reason,
                   std::uint64_t base = 0) {
  const absl::Status status = Members(archive, base).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(reason)));
}

std::string Zip64Field(std::string_view numbers) {
  return Number(1, 2) + Number(numbers.size(), 2) + std::string(numbers);
}

// The end of an archive whose directory begins at byte kLarge.
std::string LargeArchive(const MadeEntry& entry) {
  const std::string directory = entry.Bytes();
  return directory +
         MadeEnd64{.directory_bytes = directory.size(),
                   .directory_offset = kLarge}
             .Bytes() +
         MadeLocator{.end64_offset = kLarge + directory.size()}.Bytes() +
         MadeEnd{.directory_bytes = UINT32_MAX, .directory_offset = UINT32_MAX}
             .Bytes();
}

TEST(Zip64Test, ReadsLargeNumbers) {
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
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 1u);
  EXPECT_EQ((*members)[0].length, length);
  EXPECT_EQ((*members)[0].compressed, length);
  EXPECT_EQ((*members)[0].header_offset, length - 1);
}

// Only numbers that are marked are in the field.
TEST(Zip64Test, ReadsTheNumbersThatAreMarked) {
  const auto members =
      Members(LargeArchive({.extra = Zip64Field(Number(kLarge - 36, 8)),
                            .compressed = 5,
                            .length = 5,
                            .header_offset = UINT32_MAX}),
              kLarge);
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 1u);
  EXPECT_EQ((*members)[0].length, 5u);
  EXPECT_EQ((*members)[0].header_offset, kLarge - 36);
}

TEST(Zip64Test, RefusesAbsurdNumbers) {
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
  // A sum that would run over.
  const std::string half = Number(std::uint64_t{1} << 63, 8);
  ExpectDamaged(LargeArchive({.extra = Zip64Field(half + half + half),
                              .compressed = UINT32_MAX,
                              .length = UINT32_MAX,
                              .header_offset = UINT32_MAX}),
                "does not lie before the directory", kLarge);
}

TEST(Zip64Test, RefusesShortFields) {
  for (const std::string& extra :
       {Zip64Field(""), Zip64Field(Number(5, 7)),
        Number(1, 2) + Number(9, 2) + Number(5, 8)}) {
    const absl::Status status =
        Members(LargeArchive({.extra = extra, .header_offset = UINT32_MAX}),
                kLarge)
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("field is"));
  }
  const auto none = Members(LargeArchive({.extra = Zip64Field("")}), kLarge);
  EXPECT_TRUE(none.ok()) << none.status();
}

std::string WithEnd64(const std::string& before, const MadeEnd64& end,
                      const MadeLocator& locator) {
  return before + MadeHeader("a") + MadeEntry().Bytes() + end.Bytes() +
         locator.Bytes() + MadeEnd().Bytes();
}

TEST(Zip64Test, FindsRecordsThatAreLonger) {
  for (const std::string& extensible :
       {std::string(1, 'x'), std::string(5000, 'x')}) {
    const std::string archive = WithEnd64("", {.extensible = extensible}, {});
    const auto members = Members(archive);
    ASSERT_TRUE(members.ok()) << members.status();
    EXPECT_EQ(members->size(), 1u);
    // As zipfile has it, such an archive cannot have bytes before it.
    ExpectDamaged("before" + archive, "there is no zip64 end record");
  }
}

TEST(Zip64Test, RefusesRecordsThatContradict) {
  EXPECT_TRUE(Members(WithEnd64("", {}, {})).ok());
  EXPECT_TRUE(Members(WithEnd64("before", {}, {})).ok());
  ExpectDamaged(WithEnd64("", {}, {.end64_offset = 79}), "lies behind it");
  ExpectDamaged(WithEnd64("", {}, {.end64_offset = UINT64_MAX}),
                "lies behind it");
  ExpectDamaged(WithEnd64("", {}, {.end64_offset = 77}), "does not follow");
  ExpectDamaged(WithEnd64("", {.directory_bytes = 46}, {}), "does not follow");
  ExpectDamaged(WithEnd64("", {.directory_offset = 30}, {}), "does not follow");
  ExpectDamaged(
      WithEnd64("", {.directory_bytes = 79, .directory_offset = UINT64_MAX},
                {}),
      "does not follow");
  ExpectDamaged(WithEnd64("", {.members_here = 65537, .members = 65537}, {}),
                "the directory has 1 members, but the end record says 65537");
  ExpectDamaged(MadeLocator{.end64_offset = 0}.Bytes() + MadeEnd().Bytes(),
                "lies behind it");
}

}  // namespace
}  // namespace forebay::dataset::zip
