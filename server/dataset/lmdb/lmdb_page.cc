// A page begins with MDB_page's header of 16 bytes:
//
// page number u64, padding u16, flags u16, lower u16, upper u16
//
// An array of u16 follows, which ends at `lower`: the offsets of the page's
// nodes in key order. The nodes lie between `upper` and the page's end. A node
// (MDB_node) has a header of 8 bytes, its key and its data:
//
// leaf:    value length u32, flags u16, key length u16
// branch:  child page number u48, key length u16
//
// A leaf's data is the value, or the u64 number of the first overflow page if
// the flag F_BIGDATA is set. A branch has no data.
//
// A meta page has MDB_meta after the page header: the magic number, the
// version, the mapping's address and size, the records of two databases, the
// last page in use and the transaction's id. The first record is of the
// database of free pages, the second of the unnamed one.
//
// All functions read only within the bytes given. Nodes must not overlap, so
// the page's size bounds what the functions return.
#include "server/dataset/lmdb/lmdb_page.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::lmdb {
namespace {

static_assert(std::endian::native == std::endian::little);

// Values of mm_magic and mm_version. 999 is MDB_DATA_VERSION of a liblmdb that
// was built with MDB_DEVEL.
constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kMagicOfBigEndian = 0xDEC0EFBE;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kVersionOfDevelopment = 999;
constexpr std::uint64_t kSmallestPage = 512;   // bytes
constexpr std::uint64_t kLargestPage = 32768;  // bytes; mdb.c's MAX_PAGESIZE
// The root's page number in the record of an empty database (P_INVALID).
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};

// Flags of a page that tell its kind (mp_flags). All other flags, such as
// P_DIRTY, are used only by writers.
constexpr std::uint16_t kBranchPage = 0x01;
constexpr std::uint16_t kLeafPage = 0x02;
constexpr std::uint16_t kMetaPage = 0x08;
constexpr std::uint16_t kKinds = 0x6f;

// Flags of a database whose keys may have several values: MDB_DUPSORT,
// MDB_DUPFIXED, MDB_INTEGERDUP and MDB_REVERSEDUP.
constexpr std::uint16_t kSeveralValues = 0x74;

// Flags of a leaf's node: F_BIGDATA and F_SUBDATA. F_DUPDATA needs MDB_DUPSORT,
// which is not supported.
constexpr std::uint16_t kLongValueNode = 0x01;
constexpr std::uint16_t kDatabaseNode = 0x02;

// Offsets in a page's header, in bytes.
constexpr std::size_t kPageNumber = 0;
constexpr std::size_t kPageFlags = 10;
constexpr std::size_t kPageLower = 12;
constexpr std::size_t kPageUpper = 14;

// Offsets in a meta page, in bytes.
constexpr std::size_t kMetaMagic = 16;
constexpr std::size_t kMetaVersion = 20;
constexpr std::size_t kMetaFreeRecord = 40;
constexpr std::size_t kMetaMainRecord = 88;
constexpr std::size_t kMetaLastPage = 136;
constexpr std::size_t kMetaTransaction = 144;

// Offsets in a database's record (MDB_db) and its length, in bytes. In the
// record of free pages only, the first four bytes (md_pad) hold the page size.
constexpr std::size_t kRecordFlags = 4;
constexpr std::size_t kRecordDepth = 6;
constexpr std::size_t kRecordEntries = 32;
constexpr std::size_t kRecordRoot = 40;
constexpr std::size_t kRecordBytes = 48;

// Bytes of a node's header, and of a page number, which is the data of a long
// value's node.
constexpr std::size_t kNodeHeader = 8;
constexpr std::size_t kPageNumberBytes = 8;

// Returns the number at `offset`. The caller has checked that it lies in
// `bytes`.
template <typename T>
T Load(absl::Span<const std::uint8_t> bytes, std::size_t offset) {
  FOREBAY_CHECK(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Returns the error of a meta page without the magic number at its offset.
// Other variants of LMDB have the magic number at another offset, because their
// page headers have another length. A lock file (lock.mdb) begins with the
// number.
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

// The nodes of a branch page or a leaf page.
struct Nodes {
  absl::Span<const std::uint8_t> page;
  std::uint64_t number = 0;  // number of the page
  std::size_t lower = 0;     // offset at which the list of node offsets ends
  std::size_t upper = 0;     // offset of the first byte that nodes may have
  std::size_t bytes = 0;     // bytes of the nodes that TakeNode has counted

  std::size_t count() const {
    return (lower - kLmdbPageHeader) / sizeof(std::uint16_t);
  }
};

// Returns the nodes of a page. The page's flags must say that it is of `kind`.
// The offsets of the nodes are not checked yet.
absl::StatusOr<Nodes> NodesOf(absl::Span<const std::uint8_t> page,
                              std::uint64_t number, std::uint16_t kind) {
  // The walk passes whole pages, whose size ParseLmdbMeta has checked.
  FOREBAY_CHECK(page.size() >= kSmallestPage && page.size() <= kLargestPage);
  FOREBAY_RETURN_IF_ERROR(CheckPageNumber(page, number));
  if ((Load<std::uint16_t>(page, kPageFlags) & kKinds) != kind) {
    return absl::DataLossError(
        absl::StrCat("page ", number, " is not a ",
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

// Returns the bytes from a node's start to the page's end. The node's header
// lies within them.
absl::StatusOr<absl::Span<const std::uint8_t>> NodeAt(const Nodes& nodes,
                                                      std::size_t index) {
  const std::size_t offset = Load<std::uint16_t>(
      nodes.page, kLmdbPageHeader + index * sizeof(std::uint16_t));
  if (offset < nodes.upper || offset > nodes.page.size() - kNodeHeader) {
    return DamagedNode(nodes, index);
  }
  return nodes.page.subspan(offset);
}

// Counts the `bytes` of a node, all of which must lie within `node`. Nodes
// overlap if together they have more bytes than the page holds above `upper`. A
// damaged page could otherwise name one long node thousands of times.
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
        absl::StrCat("page ", number, " is not a meta page"));
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
  // The last page of an empty file is page 1, its second meta page.
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
  // If both pages have the same transaction id, liblmdb takes the first
  // (mdb_env_pick_meta).
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
    // A child's page number has 48 bits. The highest 16 lie where a leaf's node
    // has its flags.
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
