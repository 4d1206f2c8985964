// The walk takes meta page 0, meta page 1, and then the pages of the unnamed
// database's tree, depth first. The record of a named database is an entry of
// the unnamed database. At this entry, the walk leaves the unnamed database's
// tree, and starts again at the named database's root.
//
// The walk holds one branch for each level, at most kLmdbDeepest, and no leaf.
// Each page is asked for once, so the cost is one read of every branch and leaf
// page.
//
// The file is untrusted, and a damaged tree must not make the walk endless or
// too long. All leaves must lie at the depth that the tree's record tells. A
// tree is refused if a page lies below itself, if the walk reaches more pages
// than the file has, or if there are more entries than the record tells.
#include "server/dataset/lmdb/lmdb_walk.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/records/shown_key.h"

namespace forebay::dataset::lmdb {
namespace {

// The most names of databases that an error lists.
constexpr std::size_t kNamesTold = 8;

}  // namespace

absl::StatusOr<LmdbWalk> LmdbWalk::Create(std::string object,
                                          std::uint64_t size,
                                          std::string database) {
  if (size < kLmdbMetaBytes) {
    return absl::DataLossError(absl::StrCat(
        object, ": is not an LMDB file: it has only ", size, " bytes"));
  }
  return LmdbWalk(std::move(object), size, std::move(database));
}

std::optional<LmdbWalk::Range> LmdbWalk::wanted() const {
  switch (stage_) {
    case Stage::kFirstMeta:
      return Range{0, kLmdbMetaBytes};
    case Stage::kSecondMeta:
      return Range{meta_.page_bytes, kLmdbMetaBytes};
    case Stage::kTree:
      return Range{page_ * meta_.page_bytes, meta_.page_bytes};
    case Stage::kOver:
      break;
  }
  return std::nullopt;
}

std::optional<LmdbWalk::Range> LmdbWalk::metas() const {
  if (meta_.page_bytes == 0 || size_ < meta_.page_bytes + kLmdbMetaBytes)
    return std::nullopt;
  return Range{0, meta_.page_bytes + kLmdbMetaBytes};
}

std::uint64_t LmdbWalk::used_bytes() const {
  if (meta_.page_bytes == 0 || meta_.last_page >= size_ / meta_.page_bytes)
    return size_;
  return (meta_.last_page + 1) * meta_.page_bytes;
}

absl::Status LmdbWalk::Parse(std::uint64_t offset,
                             absl::Span<const std::uint8_t> bytes,
                             std::vector<LmdbEntry>* entries) {
  while (const std::optional<Range> next = wanted()) {
    if (next->offset < offset || next->offset - offset > bytes.size() ||
        next->length > bytes.size() - (next->offset - offset)) {
      break;
    }
    const absl::Status status =
        ParsePiece(bytes.subspan(next->offset - offset, next->length), entries);
    if (!status.ok()) {
      stage_ = Stage::kOver;
      return Annotated(status, next->offset);
    }
  }
  return absl::OkStatus();
}

absl::Status LmdbWalk::ParsePiece(absl::Span<const std::uint8_t> bytes,
                                  std::vector<LmdbEntry>* entries) {
  return stage_ == Stage::kTree ? ParsePage(bytes, entries) : ParseMeta(bytes);
}

absl::Status LmdbWalk::ParseMeta(absl::Span<const std::uint8_t> bytes) {
  if (stage_ == Stage::kFirstMeta) {
    FOREBAY_ASSIGN_OR_RETURN(meta_, ParseLmdbMeta(bytes, 0));
    if (size_ < meta_.page_bytes + kLmdbMetaBytes) {
      return absl::DataLossError("the file is truncated: it has one page");
    }
    stage_ = Stage::kSecondMeta;
    return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(const LmdbMeta second, ParseLmdbMeta(bytes, 1));
  FOREBAY_ASSIGN_OR_RETURN(meta_, NewestLmdbMeta(meta_, second));
  stage_ = Stage::kTree;
  return Start(meta_.tree);
}

absl::Status LmdbWalk::ParsePage(absl::Span<const std::uint8_t> bytes,
                                 std::vector<LmdbEntry>* entries) {
  if (path_.size() + 1 == tree_.depth) return ParseLeaf(bytes, entries);
  Branch branch = {page_, {}, 0};
  FOREBAY_ASSIGN_OR_RETURN(branch.below, ParseLmdbBranch(bytes, page_));
  path_.push_back(std::move(branch));
  return GoOn();
}

absl::Status LmdbWalk::ParseLeaf(absl::Span<const std::uint8_t> bytes,
                                 std::vector<LmdbEntry>* entries) {
  FOREBAY_ASSIGN_OR_RETURN(const auto nodes, ParseLmdbLeaf(bytes, page_));
  if (nodes.size() > tree_.entries - visited_entries_) {
    return absl::DataLossError(
        absl::StrCat("the database has more than the ", tree_.entries,
                     " entries that its record speaks of"));
  }
  visited_entries_ += nodes.size();
  for (const LmdbNode& node : nodes) {
    if (node.kind == LmdbNodeKind::kDatabase) {
      if (searches_ && node.key == database_) {
        searches_ = false;
        FOREBAY_ASSIGN_OR_RETURN(
            const LmdbTree tree,
            ParseLmdbTree(bytes.subspan(node.offset, node.length)));
        return Start(tree);
      }
      FOREBAY_RETURN_IF_ERROR(AddDatabase(node.key));
      continue;
    }
    FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t offset, OffsetOf(node));
    // While the walk looks for a named database, entries of the unnamed one are
    // not returned.
    if (searches_) continue;
    has_values_ = true;
    entries->push_back({std::string(node.key), offset, node.length});
  }
  return GoOn();
}

// Records the name of a named database, for errors. Only the unnamed database
// can contain named ones.
absl::Status LmdbWalk::AddDatabase(std::string_view name) {
  if (!searches_ && !database_.empty()) {
    return absl::DataLossError(absl::StrCat(
        "the database has another in it, named ", records::ShownKey(name)));
  }
  if (names_.size() < kNamesTold) names_.push_back(records::ShownKey(name));
  ++database_count_;
  return absl::OkStatus();
}

// Returns the offset of a node's value in the file. All bytes of the value lie
// within the file, and within the pages in use.
absl::StatusOr<std::uint64_t> LmdbWalk::OffsetOf(const LmdbNode& node) const {
  if (node.kind != LmdbNodeKind::kLongValue) {
    return page_ * meta_.page_bytes + node.offset;
  }
  // The value takes this many pages after its first one (mdb.c's OVPAGES, less
  // one). Only the value's first page has a page header.
  const std::uint64_t more_pages =
      (kLmdbPageHeader - 1 + node.length) / meta_.page_bytes;
  if (node.page < kLmdbFirstPage || node.page > meta_.last_page ||
      more_pages > meta_.last_page - node.page) {
    return absl::DataLossError(absl::StrCat(
        "the value of ", records::ShownKey(node.key), ", of ", node.length,
        " bytes at page ", node.page, ", lies outside the pages in use, ",
        kLmdbFirstPage, " to ", meta_.last_page));
  }
  if (node.page >= size_ / meta_.page_bytes ||
      node.length > size_ - node.page * meta_.page_bytes - kLmdbPageHeader) {
    return absl::DataLossError(absl::StrCat(
        "the file is truncated: the value of ", records::ShownKey(node.key),
        " has ", node.length, " bytes at page ", node.page));
  }
  return node.page * meta_.page_bytes + kLmdbPageHeader;
}

absl::Status LmdbWalk::Start(const LmdbTree& tree) {
  FOREBAY_RETURN_IF_ERROR(CheckLmdbTree(tree));
  tree_ = tree;
  // If the walk comes from the unnamed database's tree, that tree's branches
  // are dropped.
  path_.clear();
  visited_pages_ = 0;
  visited_entries_ = 0;
  return tree.depth == 0 ? Finish() : GoTo(tree.root);
}

absl::Status LmdbWalk::GoTo(std::uint64_t page) {
  if (page < kLmdbFirstPage || page > meta_.last_page) {
    return absl::DataLossError(
        absl::StrCat("page ", page,
                     " of the tree lies outside the pages in "
                     "use, ",
                     kLmdbFirstPage, " to ", meta_.last_page));
  }
  const std::uint64_t file_pages = size_ / meta_.page_bytes;
  if (page >= file_pages) {
    return absl::DataLossError(
        absl::StrCat("the file is truncated: it has ", file_pages,
                     " pages, and the tree page ", page));
  }
  if (std::any_of(path_.begin(), path_.end(),
                  [&](const Branch& branch) { return branch.page == page; })) {
    return absl::DataLossError(
        absl::StrCat("page ", page, " of the tree lies below itself"));
  }
  // Branches of a damaged file may share a child. This bound then ends the
  // walk.
  if (++visited_pages_ > file_pages - kLmdbFirstPage) {
    return absl::DataLossError("the tree has pages that it reaches twice");
  }
  page_ = page;
  return absl::OkStatus();
}

// Goes to the next page in key order, or finishes the walk.
absl::Status LmdbWalk::GoOn() {
  while (!path_.empty() && path_.back().next == path_.back().below.size()) {
    path_.pop_back();
  }
  if (path_.empty()) return Finish();
  Branch& branch = path_.back();
  return GoTo(branch.below[branch.next++]);
}

absl::Status LmdbWalk::Finish() {
  if (visited_entries_ != tree_.entries) {
    return absl::DataLossError(absl::StrCat(
        "the database has ", visited_entries_, " entries, and not the ",
        tree_.entries, " that its record speaks of"));
  }
  if (searches_) {
    return absl::NotFoundError(
        database_count_ == 0
            ? absl::StrCat("has no named databases, and so none named ",
                           records::ShownKey(database_))
            : absl::StrCat("has no database named ",
                           records::ShownKey(database_), ", but ",
                           Databases()));
  }
  if (!has_values_ && database_count_ > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("has entries in its named databases alone (", Databases(),
                     "), of which none was named by database="));
  }
  stage_ = Stage::kOver;
  return absl::OkStatus();
}

std::string LmdbWalk::Databases() const {
  const std::uint64_t more = database_count_ - names_.size();
  return absl::StrCat(absl::StrJoin(names_, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// Adds the file's name to an error, and to DATA_LOSS the offset of the page.
absl::Status LmdbWalk::Annotated(const absl::Status& status,
                                 std::uint64_t offset) const {
  if (!absl::IsDataLoss(status)) return base::Annotate(status, object_);
  return base::Annotate(status, absl::StrCat(object_, ": at byte ", offset));
}

}  // namespace forebay::dataset::lmdb
