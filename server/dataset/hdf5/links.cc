#include "server/dataset/hdf5/links.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/btree2.h"
#include "server/dataset/hdf5/fractal_heap.h"

// A group keeps its links in its header, or in a fractal heap that a B-tree of
// version 2 goes through. Groups of the old kind have a B-tree of version 1,
// whose leaves are tables of symbols, and a local heap with their names.

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::size_t kMostLinks = std::size_t{1} << 20;
constexpr std::uint64_t kLargestHeap = std::uint64_t{1} << 28;  // bytes

absl::Status Damaged() {
  return absl::DataLossError("is damaged: a group contradicts itself");
}

absl::StatusOr<Link> ParseLink(Bytes message, const Widths& widths) {
  Cursor cursor(message, widths);
  if (cursor.Take(1) != 1) return Damaged();
  const std::uint64_t flags = cursor.Take(1);
  const std::uint64_t type = (flags & 0x08) != 0 ? cursor.Take(1) : 0;
  if ((flags & 0x04) != 0) cursor.Skip(8);
  if ((flags & 0x10) != 0) cursor.Skip(1);
  const std::uint64_t length = cursor.Take(std::size_t{1} << (flags & 3));
  const Bytes name = cursor.TakeBytes(length);
  Link link{std::string(name.begin(), name.end())};
  if (type == 0) link.address = cursor.TakeAddress();
  if (!cursor.ok() || name.empty()) return Damaged();
  return link;
}

class Group {
 public:
  explicit Group(FileView& file) : file_(file) {}

  absl::Status ReadDense(Bytes link_info) {
    Cursor cursor(link_info, file_.widths());
    cursor.Skip(1);
    if ((cursor.Take(1) & 1) != 0) cursor.Skip(8);
    const std::uint64_t heap_address = cursor.TakeAddress();
    const std::uint64_t tree_address = cursor.TakeAddress();
    if (!cursor.ok()) return Damaged();
    if (heap_address == kNoAddress || tree_address == kNoAddress)
      return absl::OkStatus();
    FOREBAY_ASSIGN_OR_RETURN(const FractalHeap heap,
                             FractalHeap::Read(file_, heap_address));
    Btree2Walk walk(tree_address);
    while (!walk.done()) {
      FOREBAY_RETURN_IF_ERROR(walk.Step(
          file_, [&](Bytes record) { return AddDense(heap, record); }));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOld(Bytes symbol_table) {
    Cursor cursor(symbol_table, file_.widths());
    const std::uint64_t tree = cursor.TakeAddress();
    const std::uint64_t heap = cursor.TakeAddress();
    if (!cursor.ok()) return Damaged();
    FOREBAY_RETURN_IF_ERROR(ReadLocalHeap(heap));
    return ReadTree(tree);
  }

  absl::Status Add(Link link) {
    if (links_.size() >= kMostLinks) {
      return absl::UnimplementedError(
          absl::StrCat("has a group with more than ", kMostLinks, " links"));
    }
    links_.push_back(std::move(link));
    return absl::OkStatus();
  }

  std::vector<Link> Take() {
    std::sort(links_.begin(), links_.end(),
              [](const Link& a, const Link& b) { return a.name < b.name; });
    return std::move(links_);
  }

 private:
  absl::Status AddDense(const FractalHeap& heap, Bytes record) {
    constexpr std::size_t kHash = 4;
    if (record.size() <= kHash) return Damaged();
    FOREBAY_ASSIGN_OR_RETURN(const Bytes message,
                             heap.Find(file_, record.subspan(kHash)));
    FOREBAY_ASSIGN_OR_RETURN(Link link, ParseLink(message, file_.widths()));
    return Add(std::move(link));
  }

  absl::Status ReadLocalHeap(std::uint64_t address) {
    const Widths& widths = file_.widths();
    FOREBAY_ASSIGN_OR_RETURN(
        const Bytes header,
        file_.At(address, 8 + 2 * widths.length + widths.address));
    Cursor cursor(header, widths);
    if (!cursor.TakeSignature("HEAP")) return Damaged();
    cursor.Skip(4);
    const std::uint64_t bytes = cursor.TakeLength();
    cursor.TakeLength();
    const std::uint64_t data = cursor.TakeAddress();
    if (bytes > kLargestHeap) return Damaged();
    FOREBAY_ASSIGN_OR_RETURN(names_, file_.At(data, bytes));
    return absl::OkStatus();
  }

  absl::Status ReadTree(std::uint64_t root) {
    const Widths& widths = file_.widths();
    std::vector<std::uint64_t> pending = {root};
    std::set<std::uint64_t> seen;
    while (!pending.empty()) {
      const std::uint64_t address = pending.back();
      pending.pop_back();
      if (!seen.insert(address).second) return Damaged();
      const std::uint64_t prefix = 8 + 2 * widths.address;
      FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file_.At(address, prefix));
      Cursor cursor(start, widths);
      if (!cursor.TakeSignature("TREE") || cursor.Take(1) != 0)
        return Damaged();
      const bool is_leaf = cursor.Take(1) == 0;
      const std::uint64_t entries = cursor.Take(2);
      FOREBAY_ASSIGN_OR_RETURN(
          const Bytes items,
          file_.At(address + prefix,
                   entries * (widths.length + widths.address)));
      Cursor keys(items, widths);
      for (std::uint64_t i = 0; i < entries; ++i) {
        keys.TakeLength();
        const std::uint64_t child = keys.TakeAddress();
        if (is_leaf) {
          if (!seen.insert(child).second) return Damaged();
          FOREBAY_RETURN_IF_ERROR(ReadSymbols(child));
        } else {
          pending.push_back(child);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadSymbols(std::uint64_t address) {
    const Widths& widths = file_.widths();
    constexpr std::uint64_t kPrefix = 8;
    constexpr std::uint64_t kScratch = 24;  // with what is before it
    FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file_.At(address, kPrefix));
    Cursor prefix(start);
    if (!prefix.TakeSignature("SNOD")) return Damaged();
    prefix.Skip(2);
    const std::uint64_t symbols = prefix.Take(2);
    FOREBAY_ASSIGN_OR_RETURN(
        const Bytes entries,
        file_.At(address + kPrefix, symbols * (2 * widths.address + kScratch)));
    Cursor cursor(entries, widths);
    for (std::uint64_t i = 0; i < symbols; ++i) {
      const std::uint64_t name_at = cursor.TakeAddress();
      Link link;
      link.address = cursor.TakeAddress();
      if (cursor.Take(4) == 2) link.address = kNoAddress;  // a symbolic link
      cursor.Skip(kScratch - 4);
      if (!cursor.ok() || name_at >= names_.size()) return Damaged();
      link.name = std::string(Cursor(names_.subspan(name_at)).TakeText());
      if (link.name.empty()) return Damaged();
      FOREBAY_RETURN_IF_ERROR(Add(std::move(link)));
    }
    return absl::OkStatus();
  }

  FileView& file_;
  Bytes names_;  // of a group of the old kind
  std::vector<Link> links_;
};

}  // namespace

absl::StatusOr<std::vector<Link>> ReadLinks(
    FileView& file, const std::vector<Message>& messages) {
  Group group(file);
  for (const Message& message : messages) {
    if (message.type == MessageType::kLink) {
      FOREBAY_ASSIGN_OR_RETURN(Link link,
                               ParseLink(message.body, file.widths()));
      FOREBAY_RETURN_IF_ERROR(group.Add(std::move(link)));
    } else if (message.type == MessageType::kLinkInfo) {
      FOREBAY_RETURN_IF_ERROR(group.ReadDense(message.body));
    } else if (message.type == MessageType::kSymbolTable) {
      FOREBAY_RETURN_IF_ERROR(group.ReadOld(message.body));
    }
  }
  return group.Take();
}

}  // namespace forebay::dataset::hdf5
