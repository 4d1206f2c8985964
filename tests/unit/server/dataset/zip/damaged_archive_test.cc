#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/dataset/zip/zip_member.h"
#include "tests/unit/server/dataset/zip/golden_archives.h"

// Archives that are damaged anywhere give an error, or just the files that they
// had.

namespace forebay::dataset::zip {
namespace {

// Directories of all kinds, with and without the larger end record.
constexpr const char* kArchives[] = {
    "deflated.zip",      "comment.zip",       "streamed.zip",
    "prefixed.zip",      "zip64.zip",         "zip64_members.zip",
    "infozip_plain.zip", "infozip_zip64.zip", "infozip_piped.zip",
    "savez.npz",         "directories.zip",
};

std::set<std::string> Contents(const std::string& archive) {
  std::set<std::string> contents;
  const auto members = Members(archive);
  EXPECT_TRUE(members.ok()) << members.status();
  if (!members.ok()) return contents;
  for (const ZipMember& member : *members) {
    const auto content = Content(archive, member);
    EXPECT_TRUE(content.ok()) << content.status();
    if (content.ok()) contents.insert(*content);
  }
  return contents;
}

TEST(DamagedArchiveTest, EveryTruncationIsNoticed) {
  for (const char* name : kArchives) {
    const std::string archive = GoldenFile(name);
    EXPECT_TRUE(Members(archive).ok());
    for (std::size_t length = 0; length < archive.size(); ++length) {
      const absl::Status status = Members(archive.substr(0, length)).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss)
          << name << " of " << length << " bytes: " << status;
    }
  }
}

TEST(DamagedArchiveTest, NoOtherByteGivesOtherData) {
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
          EXPECT_EQ(contents.count(*content), 1u) << name << " at " << at;
        }
      }
    }
  }
}

// All that a byte can be, in an archive of one file.
TEST(DamagedArchiveTest, NoByteAtAllGivesOtherData) {
  const std::string archive = GoldenFile("savez_compressed.npz");
  const std::set<std::string> contents = Contents(archive);
  ASSERT_EQ(contents.size(), 1u);
  for (std::size_t at = 0; at < archive.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = archive;
      damaged[at] = static_cast<char>(byte);
      const auto members = Members(damaged);
      if (!members.ok()) continue;
      for (const ZipMember& member : *members) {
        const auto content = Content(damaged, member);
        if (content.ok()) {
          EXPECT_EQ(contents.count(*content), 1u) << at;
        }
      }
    }
  }
}

}  // namespace
}  // namespace forebay::dataset::zip
