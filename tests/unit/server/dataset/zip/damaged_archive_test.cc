#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "server/dataset/zip/zip_member.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"

// Tests that an archive with damage at any place gives an error, or only files
// that it had.

namespace forebay::dataset::zip {
namespace {

using tests::HasCode;
using tests::IsOk;

// The archives have directories of all kinds, with and without a zip64 end of
// central directory record (APPNOTE 4.3.14).
constexpr const char* kArchives[] = {
    "deflated.zip",      "comment.zip",       "streamed.zip",
    "prefixed.zip",      "zip64.zip",         "zip64_members.zip",
    "infozip_plain.zip", "infozip_zip64.zip", "infozip_piped.zip",
    "savez.npz",         "directories.zip",
};

std::set<std::string> Contents(const std::string& archive) {
  std::set<std::string> contents;
  const auto members = Members(archive);
  CHECK_THAT(members, IsOk());
  if (!members.ok()) return contents;
  for (const ZipMember& member : *members) {
    const auto content = Content(archive, member);
    CHECK_THAT(content, IsOk());
    if (content.ok()) contents.insert(*content);
  }
  return contents;
}

TEST_CASE("Every truncation of a zip archive is noticed",
          "[zip][damaged_archive]") {
  for (const char* name : kArchives) {
    const std::string archive = GoldenFile(name);
    CHECK_THAT(Members(archive), IsOk());
    for (std::size_t length = 0; length < archive.size(); ++length) {
      const absl::Status status = Members(archive.substr(0, length)).status();
      UNSCOPED_INFO(name << " of " << length << " bytes: " << status);
      CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    }
  }
}

TEST_CASE("A changed byte in any kind of zip archive gives no other data",
          "[zip][damaged_archive]") {
  for (const char* name : kArchives) {
    const std::string archive = GoldenFile(name);
    const std::set<std::string> contents = Contents(archive);
    for (std::size_t at = 0; at < archive.size(); ++at) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string damaged = archive;
        damaged[at] = static_cast<char>(damaged[at] ^ change);
        const auto members = Members(damaged);
        if (!members.ok()) continue;
        for (const ZipMember& member : *members) {
          const auto content = Content(damaged, member);
          if (!content.ok()) continue;
          UNSCOPED_INFO(name << " at " << at);
          CHECK(contents.count(*content) == 1u);
        }
      }
    }
  }
}

// Each byte of an archive of one file takes every value in turn.
TEST_CASE(
    "A byte of any value at any place in a zip archive gives no other data",
    "[zip][damaged_archive]") {
  const std::string archive = GoldenFile("savez_compressed.npz");
  const std::set<std::string> contents = Contents(archive);
  REQUIRE(contents.size() == 1u);
  for (std::size_t at = 0; at < archive.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = archive;
      damaged[at] = static_cast<char>(byte);
      const auto members = Members(damaged);
      if (!members.ok()) continue;
      for (const ZipMember& member : *members) {
        const auto content = Content(damaged, member);
        if (content.ok()) {
          CAPTURE(at);
          CHECK(contents.count(*content) == 1u);
        }
      }
    }
  }
}

}  // namespace
}  // namespace forebay::dataset::zip
