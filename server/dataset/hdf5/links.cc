#include "server/dataset/hdf5/links.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

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

// Follows the free blocks of a local heap, each of which begins with the offset
// of the next one and its own size.
absl::Status CheckFreeList(Bytes heap, const Widths& widths,
                           std::uint64_t first) {
  constexpr std::uint64_t kEnd = 1;
  std::uint64_t blocks = heap.size() / (2 * widths.length);
  for (std::uint64_t at = first; at != kEnd; --blocks) {
    if (at >= heap.size() || blocks == 0) return Damaged();
    Cursor cursor(heap.subspan(at), widths);
    const std::uint64_t next = cursor.TakeLength();
    const std::uint64_t size = cursor.TakeLength();
    if (!cursor.ok() || size > heap.size() - at) return Damaged();
    at = next;
  }
  return absl::OkStatus();
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

}  // namespace

absl::Status LinkWalk::Run(FileView& file,
                           const std::vector<Message>& messages) {
  if (is_done_) return absl::OkStatus();
  for (; next_message_ < messages.size(); ++next_message_) {
    const Message& message = messages[next_message_];
    if (message.type == MessageType::kLink) {
      FOREBAY_ASSIGN_OR_RETURN(Link link,
                               ParseLink(message.body, file.widths()));
      FOREBAY_RETURN_IF_ERROR(Add(file, std::move(link)));
    } else if (message.type == MessageType::kLinkInfo) {
      FOREBAY_RETURN_IF_ERROR(RunDense(file, message.body));
    } else if (message.type == MessageType::kSymbolTable) {
      FOREBAY_RETURN_IF_ERROR(RunOld(file, message.body));
    }
  }
  std::sort(links_.begin(), links_.end(),
            [](const Link& a, const Link& b) { return a.name < b.name; });
  is_done_ = true;
  return absl::OkStatus();
}

absl::Status LinkWalk::Count(std::uint64_t bytes) {
  FOREBAY_RETURN_IF_ERROR(memory_->Grow(bytes));
  counted_ += bytes;
  return absl::OkStatus();
}

template <typename Items>
absl::Status LinkWalk::MakeRoom(Items& items, std::size_t more) {
  const std::size_t before = items.capacity();
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(items, more));
  counted_ += (items.capacity() - before) * sizeof(items[0]);
  return absl::OkStatus();
}

absl::Status LinkWalk::Add(const FileView& file, Link link) {
  if (links_.size() >= kMostLinks) {
    return absl::UnimplementedError(
        absl::StrCat("has a group with more than ", kMostLinks, " links"));
  }
  // Each name has its own place.
  name_bytes_ += link.name.size() + 1;
  if (name_bytes_ > file.size()) return Damaged();
  FOREBAY_RETURN_IF_ERROR(Count(base::HeapBytes(link.name.size())));
  FOREBAY_RETURN_IF_ERROR(MakeRoom(links_, 1));
  links_.push_back(std::move(link));
  return absl::OkStatus();
}

absl::Status LinkWalk::RunDense(FileView& file, Bytes link_info) {
  Cursor cursor(link_info, file.widths());
  cursor.Skip(1);
  if ((cursor.Take(1) & 1) != 0) cursor.Skip(8);
  const std::uint64_t heap_address = cursor.TakeAddress();
  const std::uint64_t tree_address = cursor.TakeAddress();
  if (!cursor.ok()) return Damaged();
  if (heap_address == kNoAddress || tree_address == kNoAddress)
    return absl::OkStatus();
  if (!tree_.has_value()) {
    FOREBAY_ASSIGN_OR_RETURN(heap_, FractalHeap::Read(file, heap_address));
    tree_.emplace(tree_address);
  }
  FOREBAY_RETURN_IF_ERROR(TakeDense(file));
  while (!tree_->done()) {
    ids_.clear();
    next_id_ = 0;
    FOREBAY_RETURN_IF_ERROR(tree_->Step(file, [&](Bytes record) {
      FOREBAY_RETURN_IF_ERROR(MakeRoom(ids_, record.size()));
      ids_.append(record.begin(), record.end());
      return absl::OkStatus();
    }));
    FOREBAY_RETURN_IF_ERROR(TakeDense(file));
  }
  tree_.reset();
  return absl::OkStatus();
}

// Takes the links of the node that was seen last. A record has a hash, and
// where the link lies in the heap.
absl::Status LinkWalk::TakeDense(FileView& file) {
  constexpr std::size_t kHash = 4;
  while (next_id_ < ids_.size()) {
    const std::size_t bytes = tree_->record_bytes();
    if (bytes <= kHash) return Damaged();
    const Bytes id(
        reinterpret_cast<const std::uint8_t*>(ids_.data()) + next_id_ + kHash,
        bytes - kHash);
    FOREBAY_ASSIGN_OR_RETURN(const Bytes message, heap_->Find(file, id));
    FOREBAY_ASSIGN_OR_RETURN(Link link, ParseLink(message, file.widths()));
    FOREBAY_RETURN_IF_ERROR(Add(file, std::move(link)));
    next_id_ += bytes;
  }
  return absl::OkStatus();
}

absl::Status LinkWalk::RunOld(FileView& file, Bytes symbol_table) {
  Cursor cursor(symbol_table, file.widths());
  const std::uint64_t tree = cursor.TakeAddress();
  const std::uint64_t heap = cursor.TakeAddress();
  if (!cursor.ok()) return Damaged();
  // Each time, for its bytes may have been read again with more.
  FOREBAY_RETURN_IF_ERROR(ReadLocalHeap(file, heap));
  if (!has_begun_) {
    pending_.push_back({tree, false});
    has_begun_ = true;
  }
  while (!pending_.empty()) {
    const Node node = pending_.back();
    if (seen_.contains(node.address)) return Damaged();
    FOREBAY_RETURN_IF_ERROR(node.is_table ? ReadSymbols(file, node.address)
                                          : StepTree(file, node.address));
    constexpr std::uint64_t kBytesSeen = 64;
    FOREBAY_RETURN_IF_ERROR(Count(kBytesSeen));
    seen_.insert(node.address);
  }
  has_begun_ = false;
  return absl::OkStatus();
}

absl::Status LinkWalk::ReadLocalHeap(FileView& file, std::uint64_t address) {
  const Widths& widths = file.widths();
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes header,
      file.At(address, 8 + 2 * widths.length + widths.address));
  Cursor cursor(header, widths);
  if (!cursor.TakeSignature("HEAP")) return Damaged();
  cursor.Skip(4);
  const std::uint64_t bytes = cursor.TakeLength();
  const std::uint64_t first_free = cursor.TakeLength();
  const std::uint64_t data = cursor.TakeAddress();
  if (bytes > kLargestHeap) return Damaged();
  FOREBAY_ASSIGN_OR_RETURN(names_, file.At(data, bytes));
  return CheckFreeList(names_, widths, first_free);
}

// Puts the children of a node in its place.
absl::Status LinkWalk::StepTree(FileView& file, std::uint64_t address) {
  const Widths& widths = file.widths();
  const std::uint64_t prefix = 8 + 2 * widths.address;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file.At(address, prefix));
  Cursor cursor(start, widths);
  if (!cursor.TakeSignature("TREE") || cursor.Take(1) != 0) return Damaged();
  const bool is_leaf = cursor.Take(1) == 0;
  const std::uint64_t entries = cursor.Take(2);
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes items,
      file.At(address + prefix, entries * (widths.length + widths.address)));
  FOREBAY_RETURN_IF_ERROR(MakeRoom(pending_, entries));
  pending_.pop_back();
  Cursor keys(items, widths);
  for (std::uint64_t i = 0; i < entries; ++i) {
    keys.TakeLength();
    pending_.push_back({keys.TakeAddress(), is_leaf});
  }
  return absl::OkStatus();
}

absl::Status LinkWalk::ReadSymbols(FileView& file, std::uint64_t address) {
  const Widths& widths = file.widths();
  constexpr std::uint64_t kPrefix = 8;
  constexpr std::uint64_t kScratch = 24;  // with what is before it
  FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file.At(address, kPrefix));
  Cursor prefix(start);
  if (!prefix.TakeSignature("SNOD")) return Damaged();
  prefix.Skip(2);
  const std::uint64_t symbols = prefix.Take(2);
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes entries,
      file.At(address + kPrefix, symbols * (2 * widths.address + kScratch)));
  pending_.pop_back();
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
    FOREBAY_RETURN_IF_ERROR(Add(file, std::move(link)));
    // No two have one name.
    if (name_bytes_ > names_.size()) return Damaged();
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const Link>> ReadLinks(
    FileView& file, std::uint64_t group, const std::vector<Message>& messages) {
  std::shared_ptr<LinkWalk>& walk = file.WalkOf(group);
  if (walk == nullptr) walk = std::make_shared<LinkWalk>(&file.memory());
  FOREBAY_RETURN_IF_ERROR(walk->Run(file, messages));
  return walk->links();
}

}  // namespace forebay::dataset::hdf5
