#include "server/dataset/zip/zip_directory.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/zip/archive_records.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"

namespace forebay::dataset::zip {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

std::vector<std::string> Names(std::string_view archive) {
  const auto members = Members(archive);
  CHECK_THAT(members, IsOk());
  std::vector<std::string> names;
  if (!members.ok()) return names;
  for (const ZipMember& member : *members) names.push_back(member.name);
  return names;
}

void ExpectError(std::string_view archive, absl::StatusCode code,
                 std::string_view reason) {
  const absl::Status status = Members(archive).status();
  CHECK_THAT(status, HasCode(code));
  CHECK_THAT(status.message(), Contains(std::string(reason)));
  CHECK_THAT(status.message(), Contains("some.zip: "));
}

void ExpectDamaged(std::string_view archive, std::string_view reason) {
  ExpectError(archive, absl::StatusCode::kDataLoss, reason);
}

void ExpectUnsupported(std::string_view archive, std::string_view reason) {
  ExpectError(archive, absl::StatusCode::kUnimplemented, reason);
}

TEST_CASE("A zip directory has the members that Python's zipfile finds",
          "[zip][zip_directory]") {
  for (const GoldenArchive& golden : GoldenArchives()) {
    const std::string archive = GoldenFile(golden.name);
    for (const std::uint64_t extra : {0, 1, 100, 4096, 1 << 20}) {
      const auto members = Members(archive, golden.base, extra);
      REQUIRE_THAT(members, IsOk());
      CAPTURE(golden.name);
      REQUIRE(members->size() == golden.members.size());
      for (std::size_t i = 0; i < members->size(); ++i) {
        UNSCOPED_INFO(golden.name << ": " << (*members)[i].name);
        CHECK((*members)[i] == golden.members[i].member);
      }
    }
  }
}

TEST_CASE("A zip directory gives names as stored", "[zip][zip_directory]") {
  CHECK_THAT(Names(GoldenFile("names.zip")),
             ElementsAre("\xc3\xa4.txt", "世/界.txt", "with blank", "../up",
                         "/root", "back\\slash", std::string(300, 'x'),
                         "caf\x82.txt", "twice", "twice", "extra"));
}

TEST_CASE("A zip directory turns the backslashes of DOS names into slashes",
          "[zip][zip_directory]") {
  const auto names = [](const std::string& name, std::uint8_t host) {
    std::string archive = ArchiveOf({.name = name});
    const std::size_t entry = archive.find("PK\1\2");
    archive[entry + 5] = static_cast<char>(host);
    return Names(archive);
  };
  CHECK_THAT(names("a\\b\\c.jpg", 0), ElementsAre("a/b/c.jpg"));
  CHECK_THAT(names("a\\b\\", 0), IsEmpty());
  CHECK_THAT(names("a/b\\c.jpg", 0), ElementsAre("a/b\\c.jpg"));
  CHECK_THAT(names("a\\b.jpg", 3), ElementsAre("a\\b.jpg"));
}

// A single read suffices for a small archive, with any kind of end.
TEST_CASE("A zip directory reads the end of a small archive once",
          "[zip][zip_directory]") {
  for (const char* name : {"deflated.zip", "comment.zip", "zip64.zip",
                           "zip64_prefixed.zip", "stored.zip", "savez.npz"}) {
    const std::string archive = GoldenFile(name);
    auto directory = ZipDirectory::Create("some.zip", archive.size());
    REQUIRE_THAT(directory, IsOk());
    const auto wanted = directory->wanted();
    REQUIRE(wanted.has_value());
    CHECK(wanted->length <= 4096u);
    std::vector<ZipMember> members;
    const auto tail =
        std::string_view(archive).substr(wanted->offset, wanted->length);
    REQUIRE_THAT(directory->Parse(wanted->offset, AsBytes(tail), &members),
                 IsOk());
    CAPTURE(name);
    CHECK_FALSE(directory->wanted().has_value());
    CHECK_FALSE(members.empty());
  }
}

TEST_CASE("A long zip directory is read in pieces", "[zip][zip_directory]") {
  // Three of these entries do not fit in one piece.
  const EntryRecord entry = {
      .name = std::string(65535, 'n'),
      .extra = "\1\1" + Number(65531, 2) + std::string(65531, 'e'),
      .comment = std::string(65535, 'c')};
  std::string archive = HeaderBytes(entry.name);
  archive.resize(archive.size() * 40);
  const std::uint64_t begin = archive.size();
  for (int i = 0; i < 40; ++i) archive += entry.Bytes();
  archive += EocdRecord{.members_here = 40,
                        .members = 40,
                        .directory_bytes =
                            static_cast<std::uint32_t>(archive.size() - begin),
                        .directory_offset = static_cast<std::uint32_t>(begin)}
                 .Bytes();
  auto directory = ZipDirectory::Create("some.zip", archive.size());
  REQUIRE_THAT(directory, IsOk());
  std::vector<ZipMember> members;
  int reads = 0;
  for (; const auto wanted = directory->wanted(); ++reads) {
    CHECK(wanted->length <= 1u << 20);
    const auto piece =
        std::string_view(archive).substr(wanted->offset, wanted->length);
    const auto status =
        directory->Parse(wanted->offset, AsBytes(piece), &members);
    REQUIRE_THAT(status, IsOk());
  }
  CHECK(members.size() == 40u);
  CHECK(reads == 1 + 8);
}

TEST_CASE("A zip directory takes the end record that ends the archive",
          "[zip][zip_directory]") {
  const std::string plain = GoldenFile("deflated.zip");
  const auto names = Names(plain);
  for (const std::string& comment :
       {std::string(65535, 'c'), std::string("PK\5\6"),
        EocdRecord{.comment = "x"}.Bytes() + "xy",
        "x" + EocdRecord().Bytes() + "y"}) {
    const std::string archive =
        plain.substr(0, plain.size() - 2) + Number(comment.size(), 2) + comment;
    CHECK(Names(archive) == names);
  }
}

// The archive overwrote a longer file, or other bytes were appended to it.
TEST_CASE("A zip directory is read though bytes lie behind the archive",
          "[zip][zip_directory]") {
  const std::string plain = GoldenFile("deflated.zip");
  CHECK(Names(plain + "x") == Names(plain));
  CHECK(Names(plain + std::string(65535, '\0')) == Names(plain));
  CHECK(Names(GoldenFile("counted_prefix.zip") + "x") == Names(plain));
  ExpectDamaged(plain + std::string(65536, '\0'), "there is no end record");
  // The file may be an archive that contains an archive, and was truncated.
  ExpectDamaged(GoldenFile("prefixed.zip") + "PK",
                "2 bytes follow the end record");
}

TEST_CASE("A zip directory is read though the archive lacks its first bytes",
          "[zip][zip_directory]") {
  const std::string plain = GoldenFile("prefixed.zip");
  CHECK(Names(GoldenFile("counted_prefix.zip").substr(100)) == Names(plain));
  ExpectDamaged(plain.substr(120), "the file a.txt does not lie before");
}

TEST_CASE("A zip directory refuses other compression methods",
          "[zip][zip_directory]") {
  for (const char* name : {"bzip2", "infozip_bzip2"}) {
    ExpectUnsupported(GoldenFile(std::string(name) + ".zip"),
                      "is compressed by bzip2, which is not supported");
  }
  ExpectUnsupported(GoldenFile("lzma.zip"), "a.txt is compressed by lzma");
  ExpectUnsupported(ArchiveOf({.method = 9}), "a is compressed by deflate64");
  ExpectUnsupported(ArchiveOf({.method = 93}), "a is compressed by zstd");
  ExpectUnsupported(ArchiveOf({.method = 2}), "a is compressed by method 2");
}

TEST_CASE("A zip directory refuses encrypted files", "[zip][zip_directory]") {
  ExpectUnsupported(GoldenFile("infozip_encrypted.zip"),
                    "the file t/a.txt is encrypted");
  for (const std::uint16_t flags : {1, 1 << 6, 1 << 13}) {
    ExpectUnsupported(ArchiveOf({.flags = flags}),
                      "some.zip: at byte 31: the file a is encrypted");
  }
  ExpectUnsupported(ArchiveOf({.flags = 1 << 5}), "a is a patch");
  ExpectUnsupported(ArchiveOf({.version = 64}), "version 6.4");
}

TEST_CASE("A zip directory refuses split archives", "[zip][zip_directory]") {
  ExpectUnsupported(GoldenFile("infozip_split.zip"), "the archive is split");
  const std::string before = HeaderBytes("a") + EntryRecord().Bytes();
  for (const EocdRecord& end :
       {EocdRecord{.disk = 1}, EocdRecord{.directory_disk = 1},
        EocdRecord{.members_here = 0}}) {
    ExpectUnsupported(before + end.Bytes(), "the archive is split");
  }
  for (const LocatorRecord& locator :
       {LocatorRecord{.disk = 1}, LocatorRecord{.disks = 2}}) {
    ExpectUnsupported(before + Eocd64Record().Bytes() + locator.Bytes() +
                          EocdRecord().Bytes(),
                      "the archive is split");
  }
  for (const Eocd64Record& end :
       {Eocd64Record{.disk = 1}, Eocd64Record{.directory_disk = 1},
        Eocd64Record{.members_here = 0}}) {
    ExpectUnsupported(
        before + end.Bytes() + LocatorRecord().Bytes() + EocdRecord().Bytes(),
        "the archive is split");
  }
  ExpectUnsupported(ArchiveOf({.disk = 1}), "a lies in another file");
}

TEST_CASE("A zip directory skips entries of folders whatever they say",
          "[zip][zip_directory]") {
  CHECK(Names(ArchiveOf({.name = "d/", .flags = 1, .method = 99})).empty());
  CHECK(Names(GoldenFile("empty.zip")).empty());
}

TEST_CASE("A zip directory refuses what is not a zip archive",
          "[zip][zip_directory]") {
  ExpectDamaged("", "has only 0 bytes");
  ExpectDamaged(std::string(21, 'x'), "has only 21 bytes");
  ExpectDamaged(std::string(22, 'x'), "there is no end record");
  ExpectDamaged(std::string(100000, 'P'), "there is no end record");
}

TEST_CASE("A zip directory refuses names with NUL", "[zip][zip_directory]") {
  ExpectDamaged(ArchiveOf({.name = std::string("a\0b", 3)}),
                "the file a\\x00b has a NUL in its name");
}

TEST_CASE(
    "A zip directory refuses members that cannot lie where they are said to",
    "[zip][zip_directory]") {
  CHECK(Names(ArchiveOf({})).size() == 1u);
  const std::string archive = ArchiveOf({.compressed = 5, .length = 5});
  CHECK(Names(archive).size() == 1u);
  const auto with = [&](const EntryRecord& entry) {
    return archive.substr(0, 36) + entry.Bytes() + archive.substr(36 + 47);
  };
  ExpectDamaged(with({.compressed = 6, .length = 6}),
                "a does not lie before the directory");
  ExpectDamaged(with({.compressed = 5, .length = 5, .header_offset = 1}),
                "a does not lie before the directory");
  ExpectDamaged(with({.header_offset = 6}), "does not lie before");
  ExpectDamaged(with({.header_offset = 36}), "does not lie before");
  ExpectDamaged(with({.header_offset = 37}), "does not lie before");
  ExpectDamaged(with({.header_offset = UINT32_MAX}), "does not lie before");
}

TEST_CASE("A zip directory refuses members that lie over others",
          "[zip][zip_directory]") {
  const std::string header = HeaderBytes("a") + std::string(40, '\0');
  const std::string entry = EntryRecord{.compressed = 20, .length = 20}.Bytes();
  ExpectDamaged(header + entry + entry +
                    EocdRecord{.members_here = 2,
                               .members = 2,
                               .directory_bytes = 2 * 47,
                               .directory_offset = 31 + 40}
                        .Bytes(),
                "at byte 118: the file a lies over others");
}

TEST_CASE("A zip directory refuses lengths that cannot be",
          "[zip][zip_directory]") {
  ExpectDamaged(ArchiveOf({.compressed = 5, .length = 6}),
                "a cannot have 6 bytes, as it takes 5");
  ExpectDamaged(ArchiveOf({.compressed = 6, .length = 5}), "cannot have");
  // Deflated data cannot be so short for this length.
  ExpectDamaged(ArchiveOf({.method = 8, .compressed = 5, .length = 5161}),
                "a cannot have 5161 bytes, as it takes 5");
  CHECK(Names(ArchiveOf({.method = 8, .compressed = 5, .length = 5160})) ==
        std::vector<std::string>{"a"});
}

TEST_CASE("A zip directory that does not fit its end record is refused",
          "[zip][zip_directory]") {
  const std::string before = HeaderBytes("a") + EntryRecord().Bytes();
  CHECK(Names(before + EocdRecord().Bytes()).size() == 1u);
  ExpectDamaged(before + EocdRecord{.directory_bytes = 79}.Bytes(),
                "the directory cannot have 79 bytes");
  ExpectDamaged(before + EocdRecord{.directory_bytes = UINT32_MAX}.Bytes(),
                "the directory cannot have");
  ExpectDamaged(before + EocdRecord{.directory_bytes = 46}.Bytes(),
                "there is no entry");
  ExpectDamaged(before + "x" + EocdRecord{.directory_bytes = 48}.Bytes(),
                "the directory ends within an entry");
  ExpectDamaged(before + EocdRecord{.members_here = 2, .members = 2}.Bytes(),
                "the directory has 1 members, but the end record says 2");
  ExpectDamaged(before + EocdRecord{.directory_bytes = 0}.Bytes(),
                "the directory has 0 members");
}

// Programs without zip64 let the 16-bit count overflow.
TEST_CASE("A zip directory compares only sixteen bits of the count of members",
          "[zip][zip_directory]") {
  constexpr int kMany = 65536 + 1;
  std::string archive(31 * kMany, '\0');
  for (int i = 0; i < kMany; ++i) archive += EntryRecord().Bytes();
  archive +=
      EocdRecord{.directory_bytes = 47 * kMany, .directory_offset = 31 * kMany}
          .Bytes();
  CHECK(Names(archive).size() == kMany);
}

}  // namespace
}  // namespace forebay::dataset::zip
