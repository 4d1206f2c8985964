#include "server/storage/inflated/inflated_source.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/storage/inflated/inflated_root.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/inflated/packed_files.h"
#include "tests/unit/server/storage/noting_source.h"

namespace forebay::storage::inflated {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class InflatedSourceTest : public testing::Test {
 protected:
  InflatedSourceTest() {
    packed_version_ = memory_.Put("a.gz", packed_);
    plain_version_ = memory_.Put("b", "plain");
    root_ = WithPoints(memory_.root(), points_);
  }

  InflatedSource::RunTask AtOnce() {
    return [this](const ReadPurpose& purpose, std::int64_t,
                  const std::function<void()>& task) {
      const auto payers = PayersOf(purpose);
      payers_.assign(payers.begin(), payers.end());
      if (!drops_) task();
    };
  }

  ReadRequest Request(std::uint64_t offset, std::uint64_t length) const {
    ReadRequest request;
    request.root = root_;
    request.object = "a.gz";
    request.version = packed_version_;
    request.version.size = text_.size();
    request.offset = offset;
    request.length = length;
    return request;
  }

  // Made once.
  static const std::string& Text() {
    static const std::string text = Prose(5'000'000, 1) + Noise(3'000'000, 2);
    return text;
  }
  static const std::string& Packed() {
    static const std::string packed = Gzip(Text());
    return packed;
  }
  static std::shared_ptr<const FilePoints> Points() {
    static const auto points = PointsOfFiles({{"a.gz", Packed()}});
    return points;
  }

  const std::string& text_ = Text();
  const std::string& packed_ = Packed();
  const std::shared_ptr<const FilePoints> points_ = Points();
  MemorySource memory_;
  NotingSource below_{&memory_};
  ObjectVersion packed_version_;
  ObjectVersion plain_version_;
  std::shared_ptr<const Root> root_;
  std::vector<std::uint64_t> payers_;
  bool drops_ = false;
  InflatedSource source_{&below_, AtOnce(), 0};
};

TEST_F(InflatedSourceTest, GivesTheInflatedBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t offset = random() % (text_.size() + 1);
    const std::uint64_t length = std::min<std::uint64_t>(
        i % 10 == 0 ? 4'000'000 : random() % 100'000, text_.size() - offset);
    const auto read = ReadText(source_, Request(offset, length));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_TRUE(*read == text_.substr(offset, length));
  }
  const auto all = ReadText(source_, Request(0, text_.size()));
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(*all == text_);
}

TEST_F(InflatedSourceTest, ReadsNoMoreThanItNeeds) {
  for (const std::uint64_t offset : {0, 100'000, 4'500'000, 7'990'000}) {
    const std::size_t before = below_.noted().size();
    ASSERT_TRUE(ReadText(source_, Request(offset, 1000)).ok());
    std::uint64_t bytes = 0;
    for (std::size_t i = before; i < below_.noted().size(); ++i)
      bytes += below_.noted()[i].length;
    EXPECT_LE(bytes, InflatedSource::kMostRead + 2 * (16 << 10));
    EXPECT_LE(below_.noted().size() - before, 2);
  }
}

TEST_F(InflatedSourceTest, PassesWhatIsNotCompressed) {
  ReadRequest request = Request(0, 5);
  request.object = "b";
  request.version = plain_version_;
  EXPECT_EQ(*ReadText(source_, std::move(request)), "plain");
}

TEST_F(InflatedSourceTest, GivesNothingToWhoHasTheBytes) {
  const Revision revision = {.inode = 5, .ctime_nanos = 7};
  memory_.Rewrite("a.gz", packed_, revision);
  ReadRequest request = Request(1000, 10);
  request.unless = revision;
  Revision seen;
  EXPECT_EQ(*ReadText(source_, std::move(request), &seen), "");
  EXPECT_EQ(seen, revision);
  request = Request(1000, 10);
  request.unless = Revision{.inode = 6};
  EXPECT_EQ(*ReadText(source_, std::move(request), &seen),
            text_.substr(1000, 10));
  EXPECT_EQ(seen, revision);
}

TEST_F(InflatedSourceTest, RefusesOtherRangesAndVersions) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      ReadText(source_, Request(text_.size(), 1)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      ReadText(source_, Request(1, UINT64_MAX)).status()));
  ReadRequest request = Request(0, 1);
  ++request.version.size;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ReadText(source_, std::move(request)).status()));
  memory_.Put("a.gz", packed_);  // with another stamp
  EXPECT_TRUE(
      absl::IsFailedPrecondition(ReadText(source_, Request(0, 1)).status()));
}

TEST_F(InflatedSourceTest, TellsOfDamage) {
  std::string damaged = packed_;
  for (std::size_t i = 1000; i < damaged.size(); i += 64) damaged[i] ^= 0x55;
  memory_.Rewrite("a.gz", damaged, {});
  const absl::Status status =
      ReadText(source_, Request(300'000, 1000)).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("a.gz: "));
}

TEST_F(InflatedSourceTest, ChargesAllThatShareARead) {
  ReadRequest request = Request(0, 7'000'000);
  request.purpose.job = 1;
  request.ticket = 9;
  // While the second read is under way.
  below_.set_on_read([this, reads = 0]() mutable {
    if (++reads == 2) source_.Share(9, {.job = 2});
  });
  ASSERT_TRUE(ReadText(source_, std::move(request)).ok());
  EXPECT_THAT(payers_, ElementsAre(1, 2));
  EXPECT_GE(below_.sharers().size(), 2);
  for (const auto& noted : below_.noted()) EXPECT_EQ(noted.ticket, 9);
}

TEST_F(InflatedSourceTest, CancelsWhatIsDroppedOrComesTooLate) {
  drops_ = true;
  EXPECT_TRUE(absl::IsCancelled(ReadText(source_, Request(0, 10)).status()));
  drops_ = false;
  source_.Stop();
  EXPECT_TRUE(absl::IsCancelled(ReadText(source_, Request(0, 10)).status()));
}

// The files of zstd whose reads differ: of short frames, of one that is too
// long to be read from its begin on, and of one that needs too much memory for
// that.
class ZstdSourceTest : public testing::Test {
 protected:
  struct File {
    std::string text;
    std::string packed;
    ObjectVersion version = {};
  };
  using Files = std::map<std::string, File>;

  ZstdSourceTest() {
    for (auto& [name, file] : files_)
      file.version = memory_.Put(name, file.packed);
    root_ = WithPoints(memory_.root(), Points());
  }

  // Made once, as the points are.
  static const Files& AllFiles() {
    static const Files files = [] {
      const std::string text =
          Prose(9'000'000, 1) + Noise(1'500'000, 2) + Prose(2'000'000, 3);
      const std::string one = Zstd(text);
      return Files{
          {"frames", {text, ManyZstd(text, 700'000)}},
          {"one", {text, one}},
          {"wide", {text, Zstd(text, {.window_log = 24})}},
          {"mixed",
           {text + text + text,
            one + Zstd(text.substr(0, 5'000'000)) +
                Zstd(text.substr(5'000'000), {.window_log = 25}) + one}}};
    }();
    return files;
  }
  static std::shared_ptr<const FilePoints> Points() {
    static const auto points = [] {
      std::map<std::string, std::string> packed;
      for (const auto& [name, file] : AllFiles()) packed[name] = file.packed;
      return PointsOfFiles(packed, Packing::kZstd);
    }();
    return points;
  }

  ReadRequest Request(const std::string& name, std::uint64_t offset,
                      std::uint64_t length) {
    ReadRequest request;
    request.root = root_;
    request.object = name;
    request.version = files_[name].version;
    request.version.size = files_[name].text.size();
    request.offset = offset;
    request.length = length;
    return request;
  }

  Files files_ = AllFiles();
  MemorySource memory_;
  NotingSource below_{&memory_};
  std::shared_ptr<const Root> root_;
  InflatedSource source_{&below_,
                         [](const ReadPurpose&, std::int64_t,
                            const std::function<void()>& task) { task(); },
                         0};
};

TEST_F(ZstdSourceTest, GivesTheInflatedBytes) {
  std::mt19937 random(1);
  for (const auto& [name, file] : files_) {
    const std::uint64_t size = file.text.size();
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t offset = random() % (size + 1);
      const std::uint64_t length = std::min<std::uint64_t>(
          i % 10 == 0 ? 4'000'000 : random() % 200'000, size - offset);
      const auto read = ReadText(source_, Request(name, offset, length));
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_TRUE(*read == file.text.substr(offset, length))
          << name << ' ' << offset << '+' << length;
    }
    const auto all = ReadText(source_, Request(name, 0, size));
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_TRUE(*all == file.text) << name;
  }
}

TEST_F(ZstdSourceTest, ReadsNoMoreThanItNeeds) {
  for (const std::uint64_t offset : {0, 100'000, 7'500'000, 12'400'000}) {
    const std::size_t before = below_.noted().size();
    ASSERT_TRUE(ReadText(source_, Request("frames", offset, 1000)).ok());
    std::uint64_t bytes = 0;
    for (std::size_t i = before; i < below_.noted().size(); ++i)
      bytes += below_.noted()[i].length;
    EXPECT_LE(bytes, 3 << 20);
    EXPECT_LE(below_.noted().size() - before, 3);
  }
}

TEST_F(ZstdSourceTest, AsksWhetherTheFileOfAPieceIsTheSame) {
  ASSERT_TRUE(ReadText(source_, Request("one", 11'000'000, 1000)).ok());
  ASSERT_EQ(below_.noted().size(), 1);
  EXPECT_EQ(below_.noted()[0].length, 0);
  memory_.Put("one", files_["one"].packed);  // with another stamp
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ReadText(source_, Request("one", 11'000'000, 1000)).status()));
}

TEST_F(ZstdSourceTest, GivesNothingOfAPieceToWhoHasTheBytes) {
  const Revision revision = {.inode = 5, .ctime_nanos = 7};
  memory_.Rewrite("wide", files_["wide"].packed, revision);
  ReadRequest request = Request("wide", 1000, 10);
  request.unless = revision;
  Revision seen;
  EXPECT_EQ(*ReadText(source_, std::move(request), &seen), "");
  EXPECT_EQ(seen, revision);
  request = Request("wide", 1000, 10);
  request.unless = Revision{.inode = 6};
  EXPECT_EQ(*ReadText(source_, std::move(request), &seen),
            files_["wide"].text.substr(1000, 10));
  EXPECT_EQ(seen, revision);
}

TEST_F(ZstdSourceTest, KnowsItsReads) {
  EXPECT_TRUE(InflatedSource::IsOfZstd(Request("one", 0, 1)));
  ReadRequest request = Request("one", 0, 1);
  request.object = "another";
  EXPECT_FALSE(InflatedSource::IsOfZstd(request));
  request.root = memory_.root();
  EXPECT_FALSE(InflatedSource::IsOfZstd(request));
}

TEST_F(InflatedSourceTest, HasARootOfItsOwn) {
  EXPECT_TRUE(InflatedSource::Leads(*root_));
  EXPECT_FALSE(InflatedSource::Leads(*memory_.root()));
  EXPECT_NE(*root_->identity(), *memory_.root()->identity());
  EXPECT_EQ(root_->uri(), memory_.root()->uri());
  EXPECT_EQ(WithPoints(memory_.root(), nullptr), memory_.root());
}

}  // namespace
}  // namespace forebay::storage::inflated
