// Tests that the tier gives right bytes whatever fault its disk has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kSegment = 16 * kPageBytes;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kObjects = 12;

class DiskCacheFaultsTest : public testing::Test {
 protected:
  DiskCacheFaultsTest() {
    for (int i = 0; i < kObjects; ++i) {
      const std::string name = "object" + std::to_string(i);
      requests_.push_back(
          house_.Request(name, house_.Put(name, 100 + 3'000 * i)));
    }
  }

  // Reads all objects and checks their bytes.
  void ReadAll() {
    for (const storage::ReadRequest& request : requests_) {
      ASSERT_EQ(house_.Text(request), house_.Truth(request));
    }
    house_.Settle();
  }
  Snapshot Counted() { return house_.cache().Snapshot(); }

  static std::string ContentOf(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Overwrite(const std::filesystem::path& path,
                        const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }

  DiskHouse house_{64 * kSegment, kSegment};
  std::vector<storage::ReadRequest> requests_;
};

TEST_F(DiskCacheFaultsTest, AFlippedBitCostsAtMostWhatItIsIn) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  ReadAll();
  for (int round = 0; round < 60; ++round) {
    house_.Close();
    const auto segments = house_.Segments();
    const auto& path = segments[random() % segments.size()];
    std::string content = ContentOf(path);
    content[random() % content.size()] ^= static_cast<char>(1u << random() % 8);
    Overwrite(path, content);
    house_.Open();
    ReadAll();
    ASSERT_LE(Counted().used, Counted().capacity);
  }
}

TEST_F(DiskCacheFaultsTest, EntriesThatAreDamagedAreReadBelowAndKeptAnew) {
  ReadAll();
  // Changes the files without the daemon: the index does not match them.
  for (const auto& path : house_.Segments()) {
    std::string content = ContentOf(path);
    for (std::size_t i = kPageBytes; i < content.size(); i += 100) {
      content[i] ^= 0x40;
    }
    std::ofstream file(path, std::ios::binary | std::ios::in);
    file << content;
  }
  ReadAll();
  EXPECT_EQ(Counted().damaged, kObjects);
  EXPECT_EQ(Counted().hits.reads, 0);
  EXPECT_FALSE(Counted().off);
  ReadAll();
  EXPECT_EQ(Counted().hits.reads, kObjects);
}

TEST_F(DiskCacheFaultsTest, SegmentsThatAreTruncatedAreRemoved) {
  ReadAll();
  house_.Close();
  const auto segments = house_.Segments();
  std::uint64_t length = 0;
  for (const auto& path : segments) {
    std::filesystem::resize_file(path, length);
    length += kSegment / segments.size();
  }
  house_.Open();
  EXPECT_THAT(house_.Segments(), IsEmpty());
  EXPECT_EQ(Counted().entries, 0);
  ReadAll();
}

TEST_F(DiskCacheFaultsTest, SegmentsThatTookEachOthersPlaceAreRemoved) {
  ReadAll();
  house_.Close();
  const auto segments = house_.Segments();
  ASSERT_GT(segments.size(), 2);
  const std::string first = ContentOf(segments[0]);
  Overwrite(segments[0], ContentOf(segments[1]));
  Overwrite(segments[1], first);
  house_.Open();
  EXPECT_THAT(house_.Segments(), SizeIs(segments.size() - 2));
  ReadAll();
}

// The header fits, but the rest is still another segment's.
TEST_F(DiskCacheFaultsTest, RecordsOfAnotherSegmentAreNotBelieved) {
  ReadAll();
  house_.Close();
  const auto segments = house_.Segments();
  ASSERT_GT(segments.size(), 2);
  Overwrite(segments[0], ContentOf(segments[0]).substr(0, kPageBytes) +
                             ContentOf(segments[1]).substr(kPageBytes));
  house_.Open();
  EXPECT_THAT(house_.Segments(), SizeIs(segments.size() - 1));
  ReadAll();
}

TEST_F(DiskCacheFaultsTest, AFooterThatIsGoneIsMadeUpForByTheRecords) {
  ReadAll();
  house_.Close();
  for (const auto& path : house_.Segments()) {
    std::string content = ContentOf(path);
    content.replace(content.size() - kPageBytes, kPageBytes, kPageBytes, '\0');
    Overwrite(path, content);
  }
  house_.Open();
  EXPECT_EQ(Counted().entries, kObjects);
  ReadAll();
  EXPECT_EQ(Counted().hits.reads, kObjects);
}

TEST_F(DiskCacheFaultsTest, ADiskThatCannotBeReadIsLeftAloneForAWhile) {
  ReadAll();
  house_.faults().read = EIO;
  ReadAll();
  EXPECT_TRUE(Counted().off);
  EXPECT_EQ(Counted().failures, 4);
  const auto reads = house_.faults().reads_done.load();
  ReadAll();
  EXPECT_EQ(house_.faults().reads_done, reads);
  house_.faults().read = 0;
  house_.clock().Advance(kSecond);
  EXPECT_FALSE(Counted().off);
  ReadAll();
  ReadAll();
  EXPECT_EQ(Counted().failures, 4);
  EXPECT_EQ(Counted().entries, kObjects);
}

TEST_F(DiskCacheFaultsTest, ADiskThatCannotBeWrittenIsLeftAloneForAWhile) {
  for (const int error : {EIO, ENOSPC, EROFS}) {
    house_.faults().write = error;
    ReadAll();
    EXPECT_TRUE(Counted().off);
    EXPECT_EQ(Counted().entries, 0);
    EXPECT_THAT(house_.Segments(), IsEmpty());
    house_.faults().write = 0;
    house_.clock().Advance(300 * kSecond);
  }
  ReadAll();
  EXPECT_EQ(Counted().entries, kObjects);
  EXPECT_EQ(Counted().failures, 3);
}

TEST_F(DiskCacheFaultsTest, AWriteThatFailsTakesNothingAlongThatWasWritten) {
  house_.faults().writes_before = 4;
  house_.faults().write = EIO;
  for (const storage::ReadRequest& request : requests_) {
    house_.ReadAndSettle(request);  // one write each
  }
  EXPECT_GT(Counted().entries, 0);
  EXPECT_LT(Counted().entries, kObjects);
  house_.faults().write = 0;
  ReadAll();
  EXPECT_GT(Counted().hits.reads, 0);
  house_.clock().Advance(kSecond);
  ReadAll();
  house_.Reopen();
  EXPECT_EQ(Counted().entries, kObjects);
}

TEST_F(DiskCacheFaultsTest, AFullDiskGetsSpaceBackBeforeTheNextSegment) {
  ReadAll();
  const auto before = Counted();
  house_.faults().create = ENOSPC;
  house_.faults().creates_before = 0;
  for (int i = 0; i < 8 && Counted().failures == 0; ++i) {
    const std::string name = "more" + std::to_string(i);
    const auto request = house_.Request(name, house_.Put(name, 40'000));
    EXPECT_EQ(house_.Text(request), house_.Truth(request));
    house_.Settle();
  }
  EXPECT_TRUE(Counted().off);
  EXPECT_EQ(Counted().used, before.used - kSegment);
  EXPECT_GT(Counted().evicted.reads, 0);
  house_.faults().create = 0;
  house_.clock().Advance(kSecond);
  ReadAll();
  ReadAll();
  EXPECT_EQ(Counted().used, house_.Segments().size() * kSegment);
}

TEST_F(DiskCacheFaultsTest, MovesThatAreShortOrInterruptedAreGoneOnWith) {
  house_.faults().short_moves = true;
  house_.faults().interrupted = 5;
  ReadAll();
  house_.faults().interrupted = 5;
  ReadAll();
  EXPECT_EQ(Counted().hits.reads, kObjects);
  EXPECT_EQ(Counted().failures, 0);
}

TEST_F(DiskCacheFaultsTest, WhatCannotBeMadeToLastIsStillThere) {
  house_.faults().sync = EIO;
  ReadAll();
  EXPECT_TRUE(Counted().off);
  house_.faults().sync = 0;
  ReadAll();
  EXPECT_GT(Counted().hits.reads, 0);
}

// As if the file system turned read-only.
TEST_F(DiskCacheFaultsTest, ASegmentThatCannotBeRemovedKeepsItsSpace) {
  house_.Close();
  house_.set_capacity(2 * kSegment);
  house_.Open();
  house_.faults().remove = EROFS;
  for (int i = 0; i < 20; ++i) {
    house_.clock().Advance(1201 * kSecond);
    const std::string name = "more" + std::to_string(i);
    const auto request = house_.Request(name, house_.Put(name, 40'000));
    EXPECT_EQ(house_.ReadAndSettle(request), house_.Truth(request));
    ASSERT_LE(house_.Segments().size(), 2);
    ASSERT_EQ(Counted().used, house_.Segments().size() * kSegment);
  }
  EXPECT_GT(Counted().failures, 0);
}

TEST_F(DiskCacheFaultsTest, AVolumeThatCannotBeListedIsNotOpened) {
  house_.Close();
  house_.faults().list = EIO;
  EXPECT_EQ(house_.TryOpen().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(DiskCacheFaultsTest, AVolumeThatKeepsWhatItShouldNotIsNotOpened) {
  ReadAll();
  house_.Close();
  Overwrite(house_.Segments()[0], std::string(kSegment, 'x'));
  house_.faults().remove = EROFS;
  EXPECT_EQ(house_.TryOpen().status().code(), absl::StatusCode::kUnavailable);
  house_.faults().remove = 0;
  house_.Open();
  ReadAll();
}

}  // namespace
}  // namespace forebay::cache::disk
