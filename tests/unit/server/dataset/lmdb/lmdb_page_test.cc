#include "server/dataset/lmdb/lmdb_page.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/dataset/lmdb/golden_lmdb.h"

namespace forebay::dataset::lmdb {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kMagic = 0xBEEFC0DE;

void ExpectError(const absl::Status& status, absl::StatusCode code,
                 std::string_view reason) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(reason)));
}

absl::Status MetaStatus(const std::string& file, std::uint64_t number = 0) {
  return ParseLmdbMeta(AsBytes(file).subspan(0, kLmdbMetaBytes), number)
      .status();
}

TEST(LmdbPageTest, ReadsMetaPages) {
  const std::string file = GoldenFile("few_2048.mdb");
  const auto first = ParseLmdbMeta(AsBytes(file), 0);
  const auto second = ParseLmdbMeta(AsBytes(file).subspan(2048), 1);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(first->page_bytes, 2048u);
  EXPECT_EQ(first->transaction, 0u);
  EXPECT_EQ(first->last_page, 1u);
  EXPECT_EQ(first->tree.depth, 0u);
  EXPECT_EQ(second->transaction, 1u);
  EXPECT_EQ(second->last_page, 2u);
  EXPECT_EQ(second->tree.root, 2u);
  EXPECT_EQ(second->tree.depth, 1u);
  EXPECT_EQ(second->tree.entries, 6u);
}

TEST(LmdbPageTest, TellsForeignFormatsByName) {
  constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
  const std::string good = GoldenFile("few.mdb");
  std::string file = good;
  Put<std::uint32_t>(file, 20, 999);
  ExpectError(MetaStatus(file), kUnimplemented,
              "format version 999, of development builds");
  Put<std::uint32_t>(file, 20, 2);
  ExpectError(MetaStatus(file), kUnimplemented,
              "format version 2; only version 1");
  // As these have shorter or longer page numbers, or other headers.
  file = good.substr(4);
  ExpectError(MetaStatus(file), kUnimplemented, "32-bit program");
  file = std::string(8, '\0') + good;
  ExpectError(MetaStatus(file), kUnimplemented, "later format");
  file = good;
  Put<std::uint32_t>(file, 16, __builtin_bswap32(kMagic));
  ExpectError(MetaStatus(file), kUnimplemented, "big-endian");
  ExpectError(MetaStatus(file.substr(4)), kUnimplemented, "big-endian");
}

TEST(LmdbPageTest, RefusesOtherFiles) {
  constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
  const std::string good = GoldenFile("few.mdb");
  ExpectError(MetaStatus(good.substr(16)), kDataLoss, "lock file");
  ExpectError(MetaStatus(std::string(200, 'x')), kDataLoss, "no meta page");
  ExpectError(MetaStatus(good.substr(0, 151)), kDataLoss, "151 of 152 bytes");
  ExpectError(MetaStatus(good, 1), kDataLoss, "page 1 says that it is page 0");
  std::string file = good;
  Put<std::uint16_t>(file, 10, 2);
  ExpectError(MetaStatus(file), kDataLoss, "page 0 is no meta page");
  file = good;
  Put<std::uint64_t>(file, 136, 0);
  ExpectError(MetaStatus(file), kDataLoss, "page 0 is the last");
}

TEST(LmdbPageTest, PagesHaveASizeThatLiblmdbGives) {
  std::string file = GoldenFile("few.mdb");
  for (std::uint64_t size = 1; size <= std::uint64_t{1} << 31; size *= 2) {
    Put<std::uint32_t>(file, 40, static_cast<std::uint32_t>(size));
    EXPECT_EQ(MetaStatus(file).ok(), size >= 512 && size <= 32768) << size;
  }
  for (const std::uint32_t size : {0, 511, 513, 4097, 6144, -1}) {
    Put<std::uint32_t>(file, 40, size);
    ExpectError(MetaStatus(file), absl::StatusCode::kDataLoss, "pages of ");
  }
}

TEST(LmdbPageTest, TheLargerTransactionIsTheLast) {
  std::string file = GoldenFile("empty.mdb");
  const auto newest = [&] {
    return NewestLmdbTransaction(AsBytes(file).subspan(0, kLmdbMetaBytes),
                                 AsBytes(file).subspan(4096, kLmdbMetaBytes));
  };
  for (const std::uint64_t first : {0, 6, 8}) {
    Put<std::uint64_t>(file, 144, first);
    Put<std::uint64_t>(file, 4096 + 144, 7);
    ASSERT_TRUE(newest().ok()) << newest().status();
    EXPECT_EQ(*newest(), first == 8 ? 8u : 7u);
  }
  Put<std::uint32_t>(file, 40, 2048);
  ExpectError(newest().status(), absl::StatusCode::kDataLoss,
              "different page sizes");
  Put<std::uint32_t>(file, 4096 + 16, 0);
  ExpectError(newest().status(), absl::StatusCode::kDataLoss, "no meta page");
}

TEST(LmdbPageTest, RecordsThatContradictThemselvesAreRefused) {
  constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
  EXPECT_TRUE(CheckLmdbTree({.root = kNoPage}).ok());
  EXPECT_TRUE(CheckLmdbTree({.root = 2, .entries = 1, .depth = 32}).ok());
  for (const std::uint16_t flags : {0x04, 0x14, 0x24, 0x46, 0x10}) {
    ExpectError(CheckLmdbTree({.root = kNoPage, .flags = flags}),
                absl::StatusCode::kUnimplemented, "MDB_DUPSORT");
  }
  EXPECT_TRUE(CheckLmdbTree({.root = kNoPage, .flags = 0x0a}).ok());
  for (const LmdbTree& tree :
       {LmdbTree{.root = 2, .entries = 1, .depth = 33}, LmdbTree{.root = 2},
        LmdbTree{.root = kNoPage, .entries = 1},
        LmdbTree{.root = 2, .entries = 0, .depth = 1},
        LmdbTree{.root = kNoPage, .entries = 1, .depth = 1}}) {
    EXPECT_EQ(CheckLmdbTree(tree).code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(ParseLmdbTree(AsBytes(std::string(47, 'x'))).status().code(),
            absl::StatusCode::kDataLoss);
}

// The leaf of few_2048.mdb.
class LmdbLeafTest : public testing::Test {
 protected:
  void ExpectDamage(std::string_view reason) {
    ExpectError(ParseLmdbLeaf(AsBytes(page_), 2).status(),
                absl::StatusCode::kDataLoss, reason);
    page_ = good_;
  }
  std::size_t node(std::size_t index) const {
    return Get<std::uint16_t>(page_, 16 + 2 * index);
  }

  const std::string good_ = GoldenFile("few_2048.mdb").substr(4096, 2048);
  std::string page_ = good_;
};

TEST_F(LmdbLeafTest, HasNodesInOrder) {
  const auto nodes = ParseLmdbLeaf(AsBytes(page_), 2);
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  ASSERT_EQ(nodes->size(), 6u);
  EXPECT_EQ((*nodes)[0].key, std::string_view("\0\xff odd\n", 7));
  EXPECT_EQ(page_.substr((*nodes)[0].offset, (*nodes)[0].length), "one");
  EXPECT_EQ((*nodes)[4].key, "nothing");
  EXPECT_EQ((*nodes)[4].length, 0u);
}

TEST_F(LmdbLeafTest, DamagedHeadersAreRefused) {
  Put<std::uint64_t>(page_, 0, 3);
  ExpectDamage("page 2 says that it is page 3");
  for (const std::uint16_t flags : {0, 1, 3, 4, 8, 0x22, 0x42}) {
    Put<std::uint16_t>(page_, 10, flags);
    ExpectDamage("page 2 is no leaf");
  }
  const auto upper = Get<std::uint16_t>(page_, 14);
  for (const std::uint16_t lower : {0, 14, 16, 17, upper + 2, 0xfffe}) {
    Put<std::uint16_t>(page_, 12, lower);
    ExpectDamage("page 2 has a damaged header");
  }
  for (const std::uint16_t end : {0, 27, 2049, 0xffff}) {
    Put<std::uint16_t>(page_, 14, end);
    ExpectDamage("page 2 has a damaged header");
  }
  // Notes of a writer: dirty, loose, kept.
  Put<std::uint16_t>(page_, 10, 0xc012);
  EXPECT_TRUE(ParseLmdbLeaf(AsBytes(page_), 2).ok());
}

TEST_F(LmdbLeafTest, NodesLieInTheirPage) {
  for (const std::uint16_t offset : {0, 16, 2041, 2048, 0xffff}) {
    Put<std::uint16_t>(page_, 18, offset);
    ExpectDamage("node 1 of page 2 is damaged or lies outside");
  }
  Put<std::uint16_t>(page_, node(1) + 6, 0xffff);
  ExpectDamage("node 1 of page 2");
  Put<std::uint32_t>(page_, node(1), 0xffffffff);
  ExpectDamage("node 1 of page 2");
  Put<std::uint32_t>(page_, node(1), 2048);
  ExpectDamage("node 1 of page 2");
  // Room for a long value's page number lacks.
  const std::size_t last = 2048 - 8 - 4;
  Put<std::uint16_t>(page_, 16, last);
  Put<std::uint16_t>(page_, last + 4, 1);
  Put<std::uint16_t>(page_, last + 6, 0);
  ExpectDamage("node 0 of page 2");
}

TEST_F(LmdbLeafTest, NodesAreOfOneKind) {
  for (const std::uint16_t flags : {3, 4, 6, 8, 0x8000}) {
    Put<std::uint16_t>(page_, node(1) + 4, flags);
    ExpectDamage("node 1 of page 2 is damaged");
  }
}

TEST_F(LmdbLeafTest, NodesDoNotOverlap) {
  const auto longest = static_cast<std::uint16_t>(node(1));
  for (std::size_t i = 0; i < 6; ++i) {
    Put<std::uint16_t>(page_, 16 + 2 * i, longest);
  }
  ExpectDamage("nodes of page 2 overlap");
}

TEST(LmdbBranchTest, HasPagesInOrder) {
  const std::string file = GoldenFile("deep_512.mdb");
  const auto meta = ParseLmdbMeta(AsBytes(file).subspan(512), 1);
  ASSERT_TRUE(meta.ok());
  ASSERT_EQ(meta->tree.depth, 3u);
  std::string page = file.substr(512 * meta->tree.root, 512);
  const auto below = ParseLmdbBranch(AsBytes(page), meta->tree.root);
  ASSERT_TRUE(below.ok()) << below.status();
  ASSERT_GT(below->size(), 1u);
  for (const std::uint64_t number : *below) {
    EXPECT_LE(number, meta->last_page);
    EXPECT_TRUE(
        ParseLmdbBranch(AsBytes(file).subspan(512 * number, 512), number).ok());
  }
  // Page numbers have 48 bits.
  const auto node = Get<std::uint16_t>(page, 18);
  Put<std::uint16_t>(page, node + 4, 0xabcd);
  EXPECT_EQ((*ParseLmdbBranch(AsBytes(page), meta->tree.root))[1],
            (*below)[1] | std::uint64_t{0xabcd} << 32);
  Put<std::uint16_t>(page, node + 6, 0x7fff);
  ExpectError(ParseLmdbBranch(AsBytes(page), meta->tree.root).status(),
              absl::StatusCode::kDataLoss, "node 1 of page");
  ExpectError(ParseLmdbLeaf(AsBytes(file).subspan(512 * meta->tree.root, 512),
                            meta->tree.root)
                  .status(),
              absl::StatusCode::kDataLoss, "is no leaf of a tree");
}

}  // namespace
}  // namespace forebay::dataset::lmdb
