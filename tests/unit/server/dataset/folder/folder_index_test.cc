#include "server/dataset/folder/folder_index.h"

#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::folder {
namespace {

using tests::HasCode;
using tests::IsOk;

// Returns classes "c0", "c1", ..., each with the same number of files "0.jpg",
// "1.jpg", ...
FolderIndexParts Parts(std::uint64_t classes, std::uint64_t files_each) {
  FolderIndexParts parts;
  parts.directories.resize(classes + 1);
  parts.records.reserve(classes * files_each);
  for (std::uint64_t label = 0; label < classes; ++label) {
    DirectoryRecord& directory = parts.directories[label + 1];
    const std::string path = "c" + std::to_string(label);
    directory.path_offset = parts.names.size();
    directory.path_length = path.size();
    directory.label = label;
    directory.first_sample = parts.records.size();
    parts.names += path;
    const std::size_t start = parts.names.size();
    for (std::uint64_t file = 0; file < files_each; ++file) {
      const std::string name = std::to_string(file) + ".jpg";
      parts.records.emplace_back(parts.names.size() - start, name.size(),
                                 file + 1, -5 - static_cast<int>(file));
      parts.names += name;
    }
  }
  parts.names.shrink_to_fit();
  return parts;
}

TEST_CASE("A folder index finds every sample", "[folder][folder_index]") {
  const auto index = FolderIndex::Create(Parts(30, 7));
  REQUIRE_THAT(index, IsOk());
  REQUIRE((*index)->size() == 210);
  CHECK((*index)->largest_sample() == 7);
  CHECK((*index)->classes().size() == 30);
  for (std::uint64_t id = 0; id < 210; ++id) {
    const Sample sample = (*index)->At(id);
    CHECK(sample.object ==
          "c" + std::to_string(id / 7) + "/" + std::to_string(id % 7) + ".jpg");
    CHECK((*index)->LabelOf(id) == id / 7);
    CHECK(sample.length == id % 7 + 1);
    CHECK(sample.version.size == id % 7 + 1);
    CHECK(sample.version.stamp == -5 - static_cast<int>(id % 7));
  }
}

TEST_CASE("A folder index takes at most 24 bytes for each of a million samples",
          "[folder][folder_index]") {
  const auto index = FolderIndex::Create(Parts(1000, 1000));
  REQUIRE_THAT(index, IsOk());
  const std::uint64_t names = (*index)->parts().names.size();
  const double each = ((*index)->memory() - names) / 1e6;
  std::cout << each << " bytes a sample besides " << names / 1e6
            << " of its name\n";
  CHECK(each <= 24);
}

TEST_CASE("A folder index's file record keeps its numbers",
          "[folder][folder_index]") {
  for (const std::int64_t mtime : {std::int64_t{0}, INT64_MIN, INT64_MAX,
                                   std::int64_t{-1}, std::int64_t{1} << 33}) {
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1} << 32,
                                     (std::uint64_t{1} << 48) - 1}) {
      const FolderFile record(UINT32_MAX, UINT16_MAX, size, mtime);
      CHECK(record.name_offset() == UINT32_MAX);
      CHECK(record.name_length() == UINT16_MAX);
      CHECK(record.size() == size);
      CHECK(record.mtime_nanos() == mtime);
    }
  }
  CHECK(FolderFile(0, 1, UINT64_MAX, 0).size() == FolderFile::kLargestSize);
}

TEST_CASE("A folder index is settled if scanned well after the last change",
          "[folder][folder_index]") {
  FolderIndexParts parts = Parts(2, 1);
  parts.directories[1].version.ctime_nanos = 10'000'000'000;
  parts.directories[2].version.ctime_nanos = 7;
  const auto index = FolderIndex::Create(std::move(parts));
  REQUIRE_THAT(index, IsOk());
  const auto is_settled = [&](std::int64_t scanned_at_nanos) {
    (*index)->Confirm(scanned_at_nanos);
    return (*index)->IsSettled();
  };
  CHECK_FALSE(is_settled(INT64_MIN));
  CHECK_FALSE(is_settled(10'000'000'000));
  CHECK_FALSE(is_settled(12'000'000'000));
  CHECK(is_settled(12'000'000'001));
}

TEST_CASE("A folder index refuses parts that do not fit together",
          "[folder][folder_index]") {
  const std::function<void(FolderIndexParts&)> breakages[] = {
      [](FolderIndexParts& p) { p.directories.clear(); },
      [](FolderIndexParts& p) { p.directories[0].path_length = 1; },
      [](FolderIndexParts& p) { p.directories[0].label = 0; },
      [](FolderIndexParts& p) { p.directories[0].first_sample = 1; },
      [](FolderIndexParts& p) {
        p.directories.erase(p.directories.begin() + 1);
      },
      [](FolderIndexParts& p) {
        p.directories.resize(1);
        p.directories[0].label = 0;
      },
      [](FolderIndexParts& p) { p.directories[1].path_offset = UINT64_MAX; },
      [](FolderIndexParts& p) { p.directories[1].path_length = UINT32_MAX; },
      [](FolderIndexParts& p) { p.directories[1].path_length = 0; },
      [](FolderIndexParts& p) { p.directories[1].first_sample = 1; },
      [](FolderIndexParts& p) { p.directories[2].first_sample = 100; },
      [](FolderIndexParts& p) { p.directories[2].label = 0; },
      [](FolderIndexParts& p) { p.directories[2].label = UINT32_MAX; },
      [](FolderIndexParts& p) { p.records.clear(); },
      [](FolderIndexParts& p) { p.records[3] = FolderFile(0, 0, 1, 1); },
      [](FolderIndexParts& p) {
        p.records[3] = FolderFile(UINT32_MAX, 1, 1, 1);
      },
      [](FolderIndexParts& p) { p.records.back() = FolderFile(9, 255, 1, 1); },
      [](FolderIndexParts& p) { p.names.resize(5); },
      [](FolderIndexParts& p) { p.names.back() = '/'; },
      [](FolderIndexParts& p) { p.names.back() = '\0'; },
  };
  int number = 0;
  for (const auto& breakage : breakages) {
    FolderIndexParts parts = Parts(3, 2);
    breakage(parts);
    CAPTURE(number);
    CHECK_THAT(FolderIndex::Create(std::move(parts)),
               HasCode(absl::StatusCode::kDataLoss));
    ++number;
  }
}

}  // namespace
}  // namespace forebay::dataset::folder
