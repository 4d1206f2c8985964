#include "server/dataset/lmdb/lmdb_page.h"

#include <string>
#include <string_view>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/lmdb/golden_lmdb.h"

namespace forebay::dataset::lmdb {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::uint32_t kMagic = 0xBEEFC0DE;

void ExpectError(const absl::Status& status, absl::StatusCode code,
                 std::string_view reason) {
  CHECK_THAT(status, HasCode(code));
  CHECK_THAT(status.message(), Contains(std::string(reason)));
}

absl::Status MetaStatus(const std::string& file, std::uint64_t number = 0) {
  return ParseLmdbMeta(AsBytes(file).subspan(0, kLmdbMetaBytes), number)
      .status();
}

TEST_CASE("The LMDB page parser reads meta pages", "[lmdb][lmdb_page]") {
  const std::string file = GoldenFile("few_2048.mdb");
  const auto first = ParseLmdbMeta(AsBytes(file), 0);
  const auto second = ParseLmdbMeta(AsBytes(file).subspan(2048), 1);
  UNSCOPED_INFO(first.status() << second.status());
  REQUIRE_THAT(first, IsOk());
  REQUIRE_THAT(second, IsOk());
  CHECK(first->page_bytes == 2048u);
  CHECK(first->transaction == 0u);
  CHECK(first->last_page == 1u);
  CHECK(first->tree.depth == 0u);
  CHECK(second->transaction == 1u);
  CHECK(second->last_page == 2u);
  CHECK(second->tree.root == 2u);
  CHECK(second->tree.depth == 1u);
  CHECK(second->tree.entries == 6u);
}

TEST_CASE("The LMDB page parser tells foreign formats by name",
          "[lmdb][lmdb_page]") {
  constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
  const std::string good = GoldenFile("few.mdb");
  std::string file = good;
  Put<std::uint32_t>(file, 20, 999);
  ExpectError(MetaStatus(file), kUnimplemented,
              "format version 999, of development builds");
  Put<std::uint32_t>(file, 20, 2);
  ExpectError(MetaStatus(file), kUnimplemented,
              "format version 2; only version 1");
  // Files of a 32-bit program have shorter page numbers. Files of a later
  // format have other headers.
  file = good.substr(4);
  ExpectError(MetaStatus(file), kUnimplemented, "32-bit program");
  file = std::string(8, '\0') + good;
  ExpectError(MetaStatus(file), kUnimplemented, "later format");
  file = good;
  Put<std::uint32_t>(file, 16, __builtin_bswap32(kMagic));
  ExpectError(MetaStatus(file), kUnimplemented, "big-endian");
  ExpectError(MetaStatus(file.substr(4)), kUnimplemented, "big-endian");
}

TEST_CASE("The LMDB page parser refuses other files", "[lmdb][lmdb_page]") {
  constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
  const std::string good = GoldenFile("few.mdb");
  ExpectError(MetaStatus(good.substr(16)), kDataLoss, "lock file");
  ExpectError(MetaStatus(std::string(200, 'x')), kDataLoss, "no meta page");
  ExpectError(MetaStatus(good.substr(0, 151)), kDataLoss, "151 of 152 bytes");
  ExpectError(MetaStatus(good, 1), kDataLoss, "page 1 says that it is page 0");
  std::string file = good;
  Put<std::uint16_t>(file, 10, 2);
  ExpectError(MetaStatus(file), kDataLoss, "page 0 is not a meta page");
  file = good;
  Put<std::uint64_t>(file, 136, 0);
  ExpectError(MetaStatus(file), kDataLoss, "page 0 is the last");
}

TEST_CASE("LMDB pages of a size that liblmdb never gives are refused",
          "[lmdb][lmdb_page]") {
  std::string file = GoldenFile("few.mdb");
  for (std::uint64_t size = 1; size <= std::uint64_t{1} << 31; size *= 2) {
    Put<std::uint32_t>(file, 40, static_cast<std::uint32_t>(size));
    CAPTURE(size);
    CHECK(MetaStatus(file).ok() == (size >= 512 && size <= 32768));
  }
  for (const std::uint32_t size : {0, 511, 513, 4097, 6144, -1}) {
    Put<std::uint32_t>(file, 40, size);
    ExpectError(MetaStatus(file), absl::StatusCode::kDataLoss, "pages of ");
  }
}

TEST_CASE("The larger transaction of an LMDB file is the last",
          "[lmdb][lmdb_page]") {
  std::string file = GoldenFile("empty.mdb");
  const auto newest = [&] {
    return NewestLmdbTransaction(AsBytes(file).subspan(0, kLmdbMetaBytes),
                                 AsBytes(file).subspan(4096, kLmdbMetaBytes));
  };
  for (const std::uint64_t first : {0, 6, 8}) {
    Put<std::uint64_t>(file, 144, first);
    Put<std::uint64_t>(file, 4096 + 144, 7);
    REQUIRE_THAT(newest(), IsOk());
    CHECK(*newest() == (first == 8 ? 8u : 7u));
  }
  Put<std::uint32_t>(file, 40, 2048);
  ExpectError(newest().status(), absl::StatusCode::kDataLoss,
              "different page sizes");
  Put<std::uint32_t>(file, 4096 + 16, 0);
  ExpectError(newest().status(), absl::StatusCode::kDataLoss, "no meta page");
}

TEST_CASE("LMDB tree records that contradict themselves are refused",
          "[lmdb][lmdb_page]") {
  constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
  CHECK_THAT(CheckLmdbTree({.root = kNoPage}), IsOk());
  CHECK_THAT(CheckLmdbTree({.root = 2, .entries = 1, .depth = 32}), IsOk());
  for (const std::uint16_t flags : {0x04, 0x14, 0x24, 0x46, 0x10}) {
    ExpectError(CheckLmdbTree({.root = kNoPage, .flags = flags}),
                absl::StatusCode::kUnimplemented, "MDB_DUPSORT");
  }
  CHECK_THAT(CheckLmdbTree({.root = kNoPage, .flags = 0x0a}), IsOk());
  for (const LmdbTree& tree :
       {LmdbTree{.root = 2, .entries = 1, .depth = 33}, LmdbTree{.root = 2},
        LmdbTree{.root = kNoPage, .entries = 1},
        LmdbTree{.root = 2, .entries = 0, .depth = 1},
        LmdbTree{.root = kNoPage, .entries = 1, .depth = 1}}) {
    CHECK_THAT(CheckLmdbTree(tree), HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK_THAT(ParseLmdbTree(AsBytes(std::string(47, 'x'))),
             HasCode(absl::StatusCode::kDataLoss));
}

// Has the leaf page of few_2048.mdb.
class LmdbLeafTest {
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

TEST_CASE_METHOD(LmdbLeafTest, "An LMDB leaf has its nodes in order",
                 "[lmdb][lmdb_page]") {
  const auto nodes = ParseLmdbLeaf(AsBytes(page_), 2);
  REQUIRE_THAT(nodes, IsOk());
  REQUIRE(nodes->size() == 6u);
  CHECK((*nodes)[0].key == std::string_view("\0\xff odd\n", 7));
  CHECK(page_.substr((*nodes)[0].offset, (*nodes)[0].length) == "one");
  CHECK((*nodes)[4].key == "nothing");
  CHECK((*nodes)[4].length == 0u);
}

TEST_CASE_METHOD(LmdbLeafTest, "LMDB leaves with damaged headers are refused",
                 "[lmdb][lmdb_page]") {
  Put<std::uint64_t>(page_, 0, 3);
  ExpectDamage("page 2 says that it is page 3");
  for (const std::uint16_t flags : {0, 1, 3, 4, 8, 0x22, 0x42}) {
    Put<std::uint16_t>(page_, 10, flags);
    ExpectDamage("page 2 is not a leaf");
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
  // Writers use these flags in memory (dirty, loose, keep), and readers ignore
  // them.
  Put<std::uint16_t>(page_, 10, 0xc012);
  CHECK_THAT(ParseLmdbLeaf(AsBytes(page_), 2), IsOk());
}

TEST_CASE_METHOD(LmdbLeafTest, "The nodes of an LMDB leaf lie in their page",
                 "[lmdb][lmdb_page]") {
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
  // The page ends before a long value's page number.
  const std::size_t last = 2048 - 8 - 4;
  Put<std::uint16_t>(page_, 16, last);
  Put<std::uint16_t>(page_, last + 4, 1);
  Put<std::uint16_t>(page_, last + 6, 0);
  ExpectDamage("node 0 of page 2");
}

TEST_CASE_METHOD(LmdbLeafTest, "Each node of an LMDB leaf is of one kind",
                 "[lmdb][lmdb_page]") {
  for (const std::uint16_t flags : {3, 4, 6, 8, 0x8000}) {
    Put<std::uint16_t>(page_, node(1) + 4, flags);
    ExpectDamage("node 1 of page 2 is damaged");
  }
}

TEST_CASE_METHOD(LmdbLeafTest, "The nodes of an LMDB leaf do not overlap",
                 "[lmdb][lmdb_page]") {
  const auto longest = static_cast<std::uint16_t>(node(1));
  for (std::size_t i = 0; i < 6; ++i) {
    Put<std::uint16_t>(page_, 16 + 2 * i, longest);
  }
  ExpectDamage("nodes of page 2 overlap");
}

TEST_CASE("An LMDB branch has its pages in order", "[lmdb][lmdb_page]") {
  const std::string file = GoldenFile("deep_512.mdb");
  const auto meta = ParseLmdbMeta(AsBytes(file).subspan(512), 1);
  REQUIRE_THAT(meta, IsOk());
  REQUIRE(meta->tree.depth == 3u);
  std::string page = file.substr(512 * meta->tree.root, 512);
  const auto below = ParseLmdbBranch(AsBytes(page), meta->tree.root);
  REQUIRE_THAT(below, IsOk());
  REQUIRE(below->size() > 1u);
  for (const std::uint64_t number : *below) {
    CHECK(number <= meta->last_page);
    CHECK_THAT(
        ParseLmdbBranch(AsBytes(file).subspan(512 * number, 512), number),
        IsOk());
  }
  // Page numbers have 48 bits.
  const auto node = Get<std::uint16_t>(page, 18);
  Put<std::uint16_t>(page, node + 4, 0xabcd);
  CHECK((*ParseLmdbBranch(AsBytes(page), meta->tree.root))[1] ==
        ((*below)[1] | std::uint64_t{0xabcd} << 32));
  Put<std::uint16_t>(page, node + 6, 0x7fff);
  ExpectError(ParseLmdbBranch(AsBytes(page), meta->tree.root).status(),
              absl::StatusCode::kDataLoss, "node 1 of page");
  ExpectError(ParseLmdbLeaf(AsBytes(file).subspan(512 * meta->tree.root, 512),
                            meta->tree.root)
                  .status(),
              absl::StatusCode::kDataLoss, "is not a leaf of a tree");
}

}  // namespace
}  // namespace forebay::dataset::lmdb
