#include "server/storage/gathered/gathered_source.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/storage/gathered/gathered_root.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/gathered/turned_pieces.h"
#include "tests/unit/server/storage/noting_source.h"

namespace forebay::storage::gathered {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::uint64_t kPiece = 10'000;

std::string Noise(std::size_t length) {
  std::mt19937 random(1);
  std::string text(length, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

class GatheredSourceTest : public testing::Test {
 protected:
  GatheredSourceTest() {
    content_ = pieces_->Add("a", turned_);
    version_ = memory_.Put("a", content_);
  }

  // Offsets are those of what follows the file's own bytes.
  ReadRequest Request(std::uint64_t offset, std::uint64_t length) const {
    ReadRequest request;
    request.root = root_;
    request.object = "a";
    request.version = version_;
    request.version.size *= 2;
    request.offset = turned_.size() + offset;
    request.length = length;
    return request;
  }

  const std::string turned_ = Noise(5'000'000);
  const std::shared_ptr<TurnedPieces> pieces_ =
      std::make_shared<TurnedPieces>(kPiece);
  std::string content_;
  MemorySource memory_;
  NotingSource below_{&memory_};
  ObjectVersion version_;
  const std::shared_ptr<const Root> root_ =
      std::make_shared<const GatheredRoot>(memory_.root(), pieces_, "turned");
  GatheredSource source_{&below_, 0};
};

TEST_F(GatheredSourceTest, GivesTheBytesOfThePieces) {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t offset = random() % (turned_.size() + 1);
    const std::uint64_t length = std::min<std::uint64_t>(
        i % 10 == 0 ? 4'000'000 : random() % 100'000, turned_.size() - offset);
    const auto read = ReadText(source_, Request(offset, length));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_TRUE(*read == turned_.substr(offset, length));
  }
  const auto all = ReadText(source_, Request(0, turned_.size()));
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(*all == turned_);
}

TEST_F(GatheredSourceTest, PassesOwnBytes) {
  ReadRequest request = Request(0, 100);
  request.offset = 17;
  EXPECT_EQ(*ReadText(source_, std::move(request)), content_.substr(17, 100));
  EXPECT_THAT(below_.log(), ElementsAre("a 17+100"));
  // Those of another file, which has nothing more.
  request = Request(0, 5);
  request.version = memory_.Put("b", "plain");
  request.object = "b";
  request.offset = 0;
  EXPECT_EQ(*ReadText(source_, std::move(request)), "plain");
}

// As when reads that lie near each other are made one.
TEST_F(GatheredSourceTest, GivesOwnBytesAndPiecesAtOnce) {
  ReadRequest request = Request(0, 300);
  request.offset -= 100;
  EXPECT_EQ(*ReadText(source_, std::move(request)),
            content_.substr(content_.size() - 100) + turned_.substr(0, 200));
}

TEST_F(GatheredSourceTest, ReadsNoMoreThanItNeeds) {
  ASSERT_TRUE(ReadText(source_, Request(kPiece - 10, 30)).ok());
  EXPECT_THAT(below_.log(), ElementsAre("a 4999990+10", "a 4980000+20"));
}

TEST_F(GatheredSourceTest, ReadsAFewPiecesAtOnce) {
  std::size_t before = 0;
  std::size_t most = 0;
  std::size_t calls = 0;
  below_.set_on_read([&] {
    most = std::max(most, below_.noted().size() - before);
    before = below_.noted().size();
    ++calls;
  });
  ASSERT_TRUE(ReadText(source_, Request(0, 100 * kPiece)).ok());
  EXPECT_EQ(most, GatheredSource::kMostPieces);
  EXPECT_EQ(calls, 4);  // of 32 pieces
}

TEST_F(GatheredSourceTest, CutsLongPieces) {
  const std::string text = Noise(3 << 20);
  const auto pieces = std::make_shared<TurnedPieces>(2 << 20);
  version_ = memory_.Put("a", pieces->Add("a", text));
  ReadRequest request = Request(0, text.size());
  request.root =
      std::make_shared<const GatheredRoot>(memory_.root(), pieces, "long");
  request.offset = text.size();
  EXPECT_TRUE(*ReadText(source_, std::move(request)) == text);
  for (const auto& noted : below_.noted())
    EXPECT_LE(noted.length, GatheredSource::kMostAtOnce);
}

TEST_F(GatheredSourceTest, GivesNothingToWhoHasTheBytes) {
  const Revision revision = {.inode = 5, .ctime_nanos = 7};
  memory_.Rewrite("a", content_, revision);
  ReadRequest request = Request(1000, 50'000);
  request.unless = revision;
  Revision seen;
  EXPECT_EQ(*ReadText(source_, std::move(request), &seen), "");
  EXPECT_EQ(seen, revision);
  EXPECT_THAT(below_.log(), SizeIs(1));
  request = Request(1000, 50'000);
  request.unless = Revision{.inode = 6};
  EXPECT_TRUE(*ReadText(source_, std::move(request), &seen) ==
              turned_.substr(1000, 50'000));
  EXPECT_EQ(seen, revision);
}

// A writer may set the file's time back and leave its layout as it was.
TEST_F(GatheredSourceTest, GivesBytesOfOneRevision) {
  memory_.Rewrite("a", content_, {.inode = 1, .ctime_nanos = 1});
  const std::string other(turned_.rbegin(), turned_.rend());
  below_.set_on_read([&, reads = 0]() mutable {
    if (++reads != 3) return;
    memory_.Rewrite("a", pieces_->Add("a", other),
                    {.inode = 1, .ctime_nanos = 2});
  });
  Revision seen;
  const auto read = ReadText(source_, Request(0, 100 * kPiece), &seen);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == other.substr(0, 100 * kPiece));
  EXPECT_EQ(seen, (Revision{.inode = 1, .ctime_nanos = 2}));
}

TEST_F(GatheredSourceTest, GivesUpIfTheRevisionChangesAgainAndAgain) {
  below_.set_on_read([&, ctime = std::int64_t{0}]() mutable {
    memory_.Rewrite("a", content_, {.inode = 1, .ctime_nanos = ++ctime});
  });
  const absl::Status status =
      ReadText(source_, Request(0, 100 * kPiece)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(status.message(), "a: is being changed while it is read");
}

TEST_F(GatheredSourceTest, RefusesOtherRangesAndVersions) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      ReadText(source_, Request(turned_.size(), 1)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      ReadText(source_, Request(1, UINT64_MAX)).status()));
  memory_.Put("a", content_);  // with another stamp
  EXPECT_TRUE(
      absl::IsFailedPrecondition(ReadText(source_, Request(0, 1)).status()));
}

TEST_F(GatheredSourceTest, NamesTheFileThatHasNoSuchPieces) {
  pieces_->Add("a", turned_.substr(10));
  const absl::Status status =
      ReadText(source_, Request(turned_.size() - 5, 5)).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("a: has no such pieces"));
}

TEST_F(GatheredSourceTest, SharesTheReadsOfAllPieces) {
  ReadRequest request = Request(0, 40 * kPiece);
  request.purpose.job = 1;
  request.ticket = 9;
  // While the second reads are under way.
  below_.set_on_read([this, reads = 0]() mutable {
    if (++reads == 2) source_.Share(9, {.job = 2});
  });
  ASSERT_TRUE(ReadText(source_, std::move(request)).ok());
  EXPECT_GE(below_.sharers().size(), 8);
  std::vector<std::uint64_t> tickets;
  for (const auto& noted : below_.noted()) tickets.push_back(noted.ticket);
  EXPECT_THAT(tickets, SizeIs(40));
  for (const std::uint64_t shared : below_.shared())
    EXPECT_THAT(tickets, Contains(shared));
  std::sort(tickets.begin(), tickets.end());
  EXPECT_EQ(std::unique(tickets.begin(), tickets.end()), tickets.end());
}

TEST_F(GatheredSourceTest, CancelsWhatComesTooLate) {
  source_.Stop();
  EXPECT_TRUE(absl::IsCancelled(ReadText(source_, Request(0, 10)).status()));
}

TEST_F(GatheredSourceTest, HasARootOfItsOwn) {
  EXPECT_TRUE(GatheredSource::Leads(*root_));
  EXPECT_FALSE(GatheredSource::Leads(*memory_.root()));
  EXPECT_EQ(root_->uri(), memory_.root()->uri());
}

}  // namespace
}  // namespace forebay::storage::gathered
