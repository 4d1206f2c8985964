#include "server/dataset/index_file.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset {
namespace {

using testing::HasSubstr;

constexpr IndexFileType kType = {
    {'F', 'B', 'Y', 'T', 'E', 'S', 'T', 'S'}, 2, 0};

// More than one piece of a file.
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

TEST(IndexFileTest, GivesWhatItWasMadeOf) {
  EXPECT_TRUE(ReadAll(File()).ok());
  ScratchTree tree;
  tree.Write("a.records", File());
  auto file = IndexFileReader::Open(tree.path() + "/a.records");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Status read = ReadAll(*file);
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(file->left(), 0);
}

TEST(IndexFileTest, DamageIsNoticed) {
  const std::string whole = File();
  for (std::size_t at = 0; at < whole.size(); at += 19'997) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(ReadAll(damaged))) << at;
    EXPECT_TRUE(absl::IsDataLoss(ReadAll(whole.substr(0, at)))) << at;
  }
  for (const std::size_t more : {1, 16}) {
    EXPECT_TRUE(
        absl::IsDataLoss(ReadAll(whole.substr(0, whole.size() - more))));
    EXPECT_TRUE(absl::IsDataLoss(ReadAll(whole + std::string(more, '\0'))));
  }
}

TEST(IndexFileTest, AFileThatShrinksIsNoticed) {
  ScratchTree tree;
  tree.Write("a.records", File());
  auto file = IndexFileReader::Open(tree.path() + "/a.records");
  ASSERT_TRUE(file.ok()) << file.status();
  tree.Write("a.records", File().substr(0, 300'000));
  const absl::Status status = ReadAll(*file);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("cut off"));
}

TEST(IndexFileTest, NoCountTakesMoreThanThereIs) {
  const std::string bytes = File();
  IndexFileReader file(absl::MakeConstSpan(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  std::vector<std::uint64_t> items;
  EXPECT_TRUE(absl::IsDataLoss(file.TakeItems(UINT64_MAX, &items)));
  EXPECT_TRUE(absl::IsDataLoss(file.TakeItems(file.left() / 8 + 1, &items)));
  EXPECT_EQ(items.capacity(), 0);
}

}  // namespace
}  // namespace forebay::dataset
