#include "server/dataset/lmdb/lmdb_page.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::lmdb {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kMagicOfBigEndian = 0xDEC0EFBE;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kVersionOfDevelopment = 999;
constexpr std::uint64_t kSmallestPage = 512;   // bytes
constexpr std::uint64_t kLargestPage = 32768;  // bytes
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};

// Flags of a page that say its kind; the others are a writer's notes.
constexpr std::uint16_t kBranchPage = 0x01;
constexpr std::uint16_t kLeafPage = 0x02;
constexpr std::uint16_t kMetaPage = 0x08;
constexpr std::uint16_t kKinds = 0x6f;

// Flags of a database whose keys may have several values: MDB_DUPSORT,
// MDB_DUPFIXED, MDB_INTEGERDUP, MDB_REVERSEDUP.
constexpr std::uint16_t kSeveralValues = 0x74;

// Flags of a leaf's node.
constexpr std::uint16_t kLongValueNode = 0x01;
constexpr std::uint16_t kDatabaseNode = 0x02;

// Places in a page's header.
constexpr std::size_t kPageNumber = 0;
constexpr std::size_t kPageFlags = 10;
constexpr std::size_t kPageLower = 12;
constexpr std::size_t kPageUpper = 14;

// Places in a meta page.
constexpr std::size_t kMetaMagic = 16;
constexpr std::size_t kMetaVersion = 20;
constexpr std::size_t kMetaFreeRecord = 40;
constexpr std::size_t kMetaMainRecord = 88;
constexpr std::size_t kMetaLastPage = 136;
constexpr std::size_t kMetaTransaction = 144;

// Places in a database's record, and its length. The first four bytes of that
// of free pages are the page size.
constexpr std::size_t kRecordFlags = 4;
constexpr std::size_t kRecordDepth = 6;
constexpr std::size_t kRecordEntries = 32;
constexpr std::size_t kRecordRoot = 40;
constexpr std::size_t kRecordBytes = 48;

constexpr std::size_t kNodeHeader = 8;  // bytes
constexpr std::size_t kPageNumberBytes = 8;

template <typename T>
T Load(absl::Span<const std::uint8_t> bytes, std::size_t offset) {
  FOREBAY_CHECK(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Says why there is no magic number where it belongs.
absl::Status WrongMagic(absl::Span<const std::uint8_t> bytes) {
  constexpr std::size_t kOf32Bits = 12;
  constexpr std::size_t kOfLaterVersions = 24;
  const auto at = [&](std::size_t offset, std::uint32_t magic) {
    return Load<std::uint32_t>(bytes, offset) == magic;
  };
  if (at(kMetaMagic, kMagicOfBigEndian) || at(kOf32Bits, kMagicOfBigEndian)) {
    return absl::UnimplementedError(
        "is an LMDB file of a big-endian host, which is not supported");
  }
  if (at(kOf32Bits, kMagic)) {
    return absl::UnimplementedError(
        "is an LMDB file of a 32-bit program, which is not supported");
  }
  if (at(kOfLaterVersions, kMagic)) {
    return absl::UnimplementedError(
        "is an LMDB file of a later format, of which only version 1 is "
        "supported");
  }
  if (at(0, kMagic)) {
    return absl::DataLossError(
        "is LMDB's lock file; the data lies in the file beside it (data.mdb)");
  }
  return absl::DataLossError("there is no meta page of LMDB");
}

absl::Status CheckVersion(std::uint32_t version) {
  if (version == kVersion) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "is an LMDB file of format version ", version,
      version == kVersionOfDevelopment ? ", of development builds of LMDB" : "",
      "; only version 1 is supported"));
}

absl::Status CheckPageNumber(absl::Span<const std::uint8_t> page,
                             std::uint64_t number) {
  const auto found = Load<std::uint64_t>(page, kPageNumber);
  if (found == number) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("page ", number, " says that it is page ", found));
}

// The places of a page's nodes, each with room for a node's header.
struct Nodes {
  absl::Span<const std::uint8_t> page;
  std::uint64_t number = 0;
  std::size_t lower = 0;  // end of their places
  std::size_t upper = 0;  // begin of the nodes
  std::size_t bytes = 0;  // that were taken

  std::size_t count() const {
    return (lower - kLmdbPageHeader) / sizeof(std::uint16_t);
  }
};

absl::StatusOr<Nodes> NodesOf(absl::Span<const std::uint8_t> page,
                              std::uint64_t number, std::uint16_t kind) {
  FOREBAY_CHECK(page.size() >= kSmallestPage && page.size() <= kLargestPage);
  FOREBAY_RETURN_IF_ERROR(CheckPageNumber(page, number));
  if ((Load<std::uint16_t>(page, kPageFlags) & kKinds) != kind) {
    return absl::DataLossError(
        absl::StrCat("page ", number, " is no ",
                     kind == kBranchPage ? "branch" : "leaf", " of a tree"));
  }
  const Nodes nodes = {page, number, Load<std::uint16_t>(page, kPageLower),
                       Load<std::uint16_t>(page, kPageUpper)};
  if (nodes.lower <= kLmdbPageHeader || nodes.lower % 2 != 0 ||
      nodes.lower > nodes.upper || nodes.upper > page.size()) {
    return absl::DataLossError(
        absl::StrCat("page ", number, " has a damaged header"));
  }
  return nodes;
}

absl::Status DamagedNode(const Nodes& nodes, std::size_t index) {
  return absl::DataLossError(absl::StrCat("node ", index, " of page ",
                                          nodes.number,
                                          " is damaged or lies outside"));
}

// Returns the node's bytes, its header and what follows up to the page's end.
absl::StatusOr<absl::Span<const std::uint8_t>> NodeAt(const Nodes& nodes,
                                                      std::size_t index) {
  const std::size_t offset = Load<std::uint16_t>(
      nodes.page, kLmdbPageHeader + index * sizeof(std::uint16_t));
  if (offset < nodes.upper || offset > nodes.page.size() - kNodeHeader) {
    return DamagedNode(nodes, index);
  }
  return nodes.page.subspan(offset);
}

// Takes the next part of a node's room. All nodes together fill no more than
// there is: else they overlap.
absl::Status TakeNode(Nodes& nodes, std::size_t index, std::size_t bytes,
                      absl::Span<const std::uint8_t> node) {
  nodes.bytes += bytes;
  if (bytes > node.size()) return DamagedNode(nodes, index);
  if (nodes.bytes > nodes.page.size() - nodes.upper) {
    return absl::DataLossError(
        absl::StrCat("nodes of page ", nodes.number, " overlap"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LmdbTree> ParseLmdbTree(absl::Span<const std::uint8_t> record) {
  if (record.size() != kRecordBytes) {
    return absl::DataLossError(absl::StrCat("a database's record has ",
                                            record.size(), " bytes, not ",
                                            kRecordBytes));
  }
  return LmdbTree{.root = Load<std::uint64_t>(record, kRecordRoot),
                  .entries = Load<std::uint64_t>(record, kRecordEntries),
                  .depth = Load<std::uint16_t>(record, kRecordDepth),
                  .flags = Load<std::uint16_t>(record, kRecordFlags)};
}

absl::Status CheckLmdbTree(const LmdbTree& tree) {
  if ((tree.flags & kSeveralValues) != 0) {
    return absl::UnimplementedError(
        "the database may have several values for a key (MDB_DUPSORT), which "
        "is not supported");
  }
  if (tree.depth > kLmdbDeepest) {
    return absl::DataLossError(absl::StrCat("the database's tree has ",
                                            tree.depth, " levels, more than ",
                                            kLmdbDeepest));
  }
  const bool is_empty = tree.depth == 0;
  if (is_empty != (tree.root == kNoPage) || is_empty != (tree.entries == 0)) {
    return absl::DataLossError(
        absl::StrCat("the database's record contradicts itself: ", tree.entries,
                     " entries in ", tree.depth, " levels"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LmdbMeta> ParseLmdbMeta(absl::Span<const std::uint8_t> bytes,
                                       std::uint64_t number) {
  if (bytes.size() < kLmdbMetaBytes) {
    return absl::DataLossError(absl::StrCat("has only ", bytes.size(), " of ",
                                            kLmdbMetaBytes,
                                            " bytes of a meta page"));
  }
  if (Load<std::uint32_t>(bytes, kMetaMagic) != kMagic) {
    return WrongMagic(bytes);
  }
  FOREBAY_RETURN_IF_ERROR(
      CheckVersion(Load<std::uint32_t>(bytes, kMetaVersion)));
  FOREBAY_RETURN_IF_ERROR(CheckPageNumber(bytes, number));
  if ((Load<std::uint16_t>(bytes, kPageFlags) & kKinds) != kMetaPage) {
    return absl::DataLossError(
        absl::StrCat("page ", number, " is no meta page"));
  }
  LmdbMeta meta;
  meta.page_bytes = Load<std::uint32_t>(bytes, kMetaFreeRecord);
  meta.last_page = Load<std::uint64_t>(bytes, kMetaLastPage);
  meta.transaction = Load<std::uint64_t>(bytes, kMetaTransaction);
  FOREBAY_ASSIGN_OR_RETURN(
      meta.tree, ParseLmdbTree(bytes.subspan(kMetaMainRecord, kRecordBytes)));
  if (meta.page_bytes < kSmallestPage || meta.page_bytes > kLargestPage ||
      !std::has_single_bit(meta.page_bytes)) {
    return absl::DataLossError(absl::StrCat("the meta page speaks of pages of ",
                                            meta.page_bytes, " bytes"));
  }
  if (meta.last_page < kLmdbFirstPage - 1) {
    return absl::DataLossError(absl::StrCat("the meta page says that page ",
                                            meta.last_page, " is the last"));
  }
  return meta;
}

absl::StatusOr<LmdbMeta> NewestLmdbMeta(const LmdbMeta& first,
                                        const LmdbMeta& second) {
  if (first.page_bytes != second.page_bytes) {
    return absl::DataLossError("the meta pages speak of different page sizes");
  }
  // Of equals the first, as liblmdb has it.
  return first.transaction < second.transaction ? second : first;
}

absl::StatusOr<std::uint64_t> NewestLmdbTransaction(
    absl::Span<const std::uint8_t> first,
    absl::Span<const std::uint8_t> second) {
  FOREBAY_ASSIGN_OR_RETURN(const LmdbMeta one, ParseLmdbMeta(first, 0));
  FOREBAY_ASSIGN_OR_RETURN(const LmdbMeta other, ParseLmdbMeta(second, 1));
  FOREBAY_ASSIGN_OR_RETURN(const LmdbMeta newest, NewestLmdbMeta(one, other));
  return newest.transaction;
}

absl::StatusOr<std::vector<std::uint64_t>> ParseLmdbBranch(
    absl::Span<const std::uint8_t> page, std::uint64_t number) {
  FOREBAY_ASSIGN_OR_RETURN(Nodes nodes, NodesOf(page, number, kBranchPage));
  std::vector<std::uint64_t> below;
  below.reserve(nodes.count());
  for (std::size_t i = 0; i < nodes.count(); ++i) {
    FOREBAY_ASSIGN_OR_RETURN(const auto node, NodeAt(nodes, i));
    const std::size_t key_bytes = Load<std::uint16_t>(node, 6);
    FOREBAY_RETURN_IF_ERROR(TakeNode(nodes, i, kNodeHeader + key_bytes, node));
    // Six bytes: the place of a leaf's flags belongs to it.
    below.push_back(Load<std::uint32_t>(node, 0) |
                    std::uint64_t{Load<std::uint16_t>(node, 4)} << 32);
  }
  return below;
}

absl::StatusOr<std::vector<LmdbNode>> ParseLmdbLeaf(
    absl::Span<const std::uint8_t> page, std::uint64_t number) {
  FOREBAY_ASSIGN_OR_RETURN(Nodes nodes, NodesOf(page, number, kLeafPage));
  std::vector<LmdbNode> found;
  found.reserve(nodes.count());
  for (std::size_t i = 0; i < nodes.count(); ++i) {
    FOREBAY_ASSIGN_OR_RETURN(const auto bytes, NodeAt(nodes, i));
    LmdbNode node;
    node.length = Load<std::uint32_t>(bytes, 0);
    const auto flags = Load<std::uint16_t>(bytes, 4);
    const std::size_t key_bytes = Load<std::uint16_t>(bytes, 6);
    if (flags == kLongValueNode) {
      node.kind = LmdbNodeKind::kLongValue;
    } else if (flags == kDatabaseNode) {
      node.kind = LmdbNodeKind::kDatabase;
    } else if (flags != 0) {
      return DamagedNode(nodes, i);
    }
    const bool is_long = node.kind == LmdbNodeKind::kLongValue;
    const std::size_t data = kNodeHeader + key_bytes;
    FOREBAY_RETURN_IF_ERROR(TakeNode(
        nodes, i, data + (is_long ? kPageNumberBytes : node.length), bytes));
    node.key = {reinterpret_cast<const char*>(bytes.data()) + kNodeHeader,
                key_bytes};
    if (is_long) {
      node.page = Load<std::uint64_t>(bytes, data);
    } else {
      node.offset = page.size() - bytes.size() + data;
    }
    found.push_back(node);
  }
  return found;
}

}  // namespace forebay::dataset::lmdb
