#include "server/dataset/index_file.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr IndexFileType kType = {
    {'F', 'B', 'Y', 'T', 'E', 'S', 'T', 'S'}, 2, 0};

// The items are read in more than one piece.
const std::vector<std::uint32_t> kItems(200'000, 7);

std::string File() {
  std::string bytes(reinterpret_cast<const char*>(&kType), sizeof(kType));
  AppendItems(bytes, kItems);
  bytes += "text";
  SealIndexFile(bytes);
  return bytes;
}

absl::Status ReadAll(IndexFileReader& file) {
  const auto header = file.TakeHeader<IndexFileType>(kType);
  if (!header.ok()) return header.status();
  std::vector<std::uint32_t> items;
  std::string text;
  absl::Status status = file.TakeItems(kItems.size(), &items);
  if (status.ok()) status = file.TakeItems(4, &text);
  if (status.ok()) status = file.Finish();
  if (status.ok() && (items != kItems || text != "text"))
    return absl::InternalError("it is another");
  return status;
}

absl::Status ReadAll(const std::string& bytes) {
  IndexFileReader file(absl::MakeConstSpan(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return ReadAll(file);
}

TEST_CASE("An index file gives back what it was made of",
          "[dataset][index_file]") {
  CHECK_THAT(ReadAll(File()), IsOk());
  ScratchTree tree;
  tree.Write("a.records", File());
  auto file = IndexFileReader::Open(tree.path() + "/a.records");
  REQUIRE_THAT(file, IsOk());
  const absl::Status read = ReadAll(*file);
  CHECK_THAT(read, IsOk());
  CHECK(file->left() == 0);
}

TEST_CASE("The index file reader notices damage", "[dataset][index_file]") {
  const std::string whole = File();
  for (std::size_t at = 0; at < whole.size(); at += 19'997) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CAPTURE(at);
    CHECK_THAT(ReadAll(damaged), HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(ReadAll(whole.substr(0, at)),
               HasCode(absl::StatusCode::kDataLoss));
  }
  for (const std::size_t more : {1, 16}) {
    CHECK_THAT(ReadAll(whole.substr(0, whole.size() - more)),
               HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(ReadAll(whole + std::string(more, '\0')),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("The index file reader notices a file that shrinks",
          "[dataset][index_file]") {
  ScratchTree tree;
  tree.Write("a.records", File());
  auto file = IndexFileReader::Open(tree.path() + "/a.records");
  REQUIRE_THAT(file, IsOk());
  tree.Write("a.records", File().substr(0, 300'000));
  const absl::Status status = ReadAll(*file);
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains("cut off"));
}

TEST_CASE("No count in an index file takes more items than there are",
          "[dataset][index_file]") {
  const std::string bytes = File();
  IndexFileReader file(absl::MakeConstSpan(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  std::vector<std::uint64_t> items;
  CHECK_THAT(file.TakeItems(UINT64_MAX, &items),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(file.TakeItems(file.left() / 8 + 1, &items),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK(items.capacity() == 0);
}

}  // namespace
}  // namespace forebay::dataset
