#include "server/dataset/folder/folder_index_format.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::folder {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint32_t kFormat = 1;

std::string Encoded() {
  FolderIndexParts parts;
  parts.names = "a1.jpg22.pnga/b3.jpg";
  parts.directories.resize(3);
  parts.directories[1] = {0, 1, 0, 0, {1, 2, 3, 4}};
  parts.directories[2] = {12, 3, 0, 2, {5, 6, 7, 8}};
  parts.records.emplace_back(0, 5, 100, 200);
  parts.records.emplace_back(5, 6, 300, -400);
  parts.records.emplace_back(0, 5, 500, 600);
  parts.scanned_at_nanos = 99;
  parts.link_context = 98;
  auto index = FolderIndex::Create(std::move(parts));
  CHECK_THAT(index, IsOk());
  return EncodeFolderIndex(**index, kFormat);
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> Decode(
    const std::string& bytes, std::uint32_t format = kFormat) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(absl::MakeConstSpan(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return DecodeFolderIndex(file, format, memory);
}

TEST_CASE("The folder index format gives back what it was given",
          "[folder][folder_index_format]") {
  const auto index = Decode(Encoded());
  REQUIRE_THAT(index, IsOk());
  CHECK(EncodeFolderIndex(**index, kFormat) == Encoded());
  CHECK((*index)->parts().scanned_at_nanos == 99);
  CHECK((*index)->parts().link_context == 98);
  CHECK((*index)->parts().directories[2].version ==
        DirectoryVersion{5, 6, 7, 8});
  REQUIRE((*index)->size() == 3);
  CHECK((*index)->At(1).object == "a/22.png");
  CHECK((*index)->At(1).version.stamp == -400);
  CHECK((*index)->At(2).object == "a/b/3.jpg");
  CHECK((*index)->At(2).length == 500);
}

TEST_CASE("The folder index format's layout is as documented",
          "[folder][folder_index_format]") {
  const std::string bytes = Encoded();
  CHECK(bytes.size() == 64 + 3 * 56 + 3 * 20 + 20 + 16);
  CHECK(bytes.substr(0, 8) == "FBYINDEX");
  CHECK(bytes.substr(8, 8) == std::string("\1\0\0\0\1\0\0\0", 8));
  CHECK(bytes.substr(32, 8) == std::string("\3\0\0\0\0\0\0\0", 8));
  CHECK(bytes.substr(64 + 3 * 56 + 3 * 20, 20) == "a1.jpg22.pnga/b3.jpg");
}

TEST_CASE("The folder index format notices every flipped bit",
          "[folder][folder_index_format]") {
  const std::string bytes = Encoded();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= 1 << bit % 8;
    CAPTURE(bit);
    CHECK_THAT(Decode(damaged), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("The folder index format notices every other length",
          "[folder][folder_index_format]") {
  const std::string bytes = Encoded();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_THAT(Decode(bytes.substr(0, length)),
               HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK_FALSE(Decode(bytes + '\0').ok());
  CHECK_FALSE(Decode(bytes + bytes).ok());
}

TEST_CASE("The folder index format refuses another dataset format",
          "[folder][folder_index_format]") {
  CHECK_THAT(Decode(Encoded(), kFormat + 1),
             HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::dataset::folder
