#include "server/dataset/hdf5/links.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

// A group stores its links in one of three ways (HDF5 File Format Specification
// v3.0). If the links are few, they are Link messages in the group's header
// (IV.A.2.g). If they are many, they are in a fractal heap, and a version 2
// B-tree lists their Heap IDs by the hash of the name. The Link Info message
// (IV.A.2.c) has the addresses of heap and tree. Old groups have a Symbol Table
// message (IV.A.2.r) with the addresses of a version 1 B-tree (III.A.1) and of
// a local heap (III.D). The tree's leaves are symbol table nodes (III.B), and
// the heap has the names.
//
// The walk through an old tree reads the first child of a node first; see
// btree2.cc. A walk keeps its position when bytes are missing. No step changes
// the position before the step has all its bytes.

namespace forebay::dataset::hdf5 {
namespace {

// Limits on the memory that a group may take.
constexpr std::size_t kMostLinks = std::size_t{1} << 20;
constexpr std::uint64_t kLargestHeap = std::uint64_t{1} << 28;  // bytes

absl::Status Damaged() {
  return absl::DataLossError("is damaged: a group contradicts itself");
}

// Checks the list of free blocks of a local heap. Each free block begins with
// the offset of the next block and its own size; offset 1 ends the list. Old
// groups have no checksums. This check finds damage that nothing else finds.
absl::Status CheckFreeList(Bytes heap, const Widths& widths,
                           std::uint64_t first) {
  constexpr std::uint64_t kEnd = 1;
  std::uint64_t blocks = heap.size() / (2 * widths.length);
  for (std::uint64_t at = first; at != kEnd; --blocks) {
    if (at >= heap.size() || blocks == 0) return Damaged();
    ByteCursor cursor(heap.subspan(at), widths);
    const std::uint64_t next = cursor.TakeLength();
    const std::uint64_t size = cursor.TakeLength();
    if (!cursor.ok() || size > heap.size() - at) return Damaged();
    at = next;
  }
  return absl::OkStatus();
}

// Parses a Link message. The message's flags say which fields are present: the
// link's type (bit 3), its creation order (bit 2), and the character set of its
// name (bit 4). Bits 0 and 1 are the width of the name's length. Type 0 is a
// hard link.
absl::StatusOr<Link> ParseLink(Bytes message, const Widths& widths) {
  ByteCursor cursor(message, widths);
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
  // In an undamaged file, names do not overlap, so all names together are
  // shorter than the file.
  name_bytes_ += link.name.size() + 1;
  if (name_bytes_ > file.size()) return Damaged();
  FOREBAY_RETURN_IF_ERROR(Count(base::HeapBytes(link.name.size())));
  FOREBAY_RETURN_IF_ERROR(MakeRoom(links_, 1));
  links_.push_back(std::move(link));
  return absl::OkStatus();
}

absl::Status LinkWalk::RunDense(FileView& file, Bytes link_info) {
  ByteCursor cursor(link_info, file.widths());
  cursor.Skip(1);
  // Bit 0 of the flags: the group counts the order of creation.
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

// Reads the links that the last tree node lists. Each record of the node is a
// hash of the name (4 bytes) and a Heap ID.
absl::Status LinkWalk::TakeDense(FileView& file) {
  constexpr std::size_t kHash = 4;
  while (next_id_ < ids_.size()) {
    const std::size_t bytes = tree_->record_bytes();
    if (bytes <= kHash) return Damaged();
    const Bytes id(
        reinterpret_cast<const std::uint8_t*>(ids_.data()) + next_id_ + kHash,
        bytes - kHash);
    const std::size_t blocks = heap_->checked_blocks();
    const auto message = heap_->Find(file, id);
    FOREBAY_RETURN_IF_ERROR(
        Count(kAddressSetBytes * (heap_->checked_blocks() - blocks)));
    if (!message.ok()) return message.status();
    FOREBAY_ASSIGN_OR_RETURN(Link link, ParseLink(*message, file.widths()));
    FOREBAY_RETURN_IF_ERROR(Add(file, std::move(link)));
    next_id_ += bytes;
  }
  return absl::OkStatus();
}

absl::Status LinkWalk::RunOld(FileView& file, Bytes symbol_table) {
  ByteCursor cursor(symbol_table, file.widths());
  const std::uint64_t tree = cursor.TakeAddress();
  const std::uint64_t heap = cursor.TakeAddress();
  if (!cursor.ok()) return Damaged();
  // The heap is found again in every run: a longer read may have replaced the
  // bytes that the span pointed to.
  FOREBAY_RETURN_IF_ERROR(ReadLocalHeap(file, heap));
  if (!has_begun_) {
    pending_.push_back({tree, false});
    has_begun_ = true;
  }
  while (!pending_.empty()) {
    const Node node = pending_.back();
    if (node_addresses_.contains(node.address)) return Damaged();
    FOREBAY_RETURN_IF_ERROR(node.is_table ? ReadSymbols(file, node.address)
                                          : StepTree(file, node.address));
    FOREBAY_RETURN_IF_ERROR(Count(kAddressSetBytes));
    node_addresses_.insert(node.address);
  }
  has_begun_ = false;
  return absl::OkStatus();
}

// Finds the names of an old group in its local heap. The heap's header has the
// heap's size, its first free block and the address of its data.
absl::Status LinkWalk::ReadLocalHeap(FileView& file, std::uint64_t address) {
  const Widths& widths = file.widths();
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes header,
      file.At(address, 8 + 2 * widths.length + widths.address));
  ByteCursor cursor(header, widths);
  if (!cursor.TakeSignature("HEAP")) return Damaged();
  cursor.Skip(4);
  const std::uint64_t bytes = cursor.TakeLength();
  const std::uint64_t first_free = cursor.TakeLength();
  const std::uint64_t data = cursor.TakeAddress();
  if (bytes > kLargestHeap) return Damaged();
  FOREBAY_ASSIGN_OR_RETURN(names_, file.At(data, bytes));
  return CheckFreeList(names_, widths, first_free);
}

// Replaces a pending node of the tree by its children. The node's keys are
// offsets of names, and are not needed.
absl::Status LinkWalk::StepTree(FileView& file, std::uint64_t address) {
  const Widths& widths = file.widths();
  const std::uint64_t prefix = 8 + 2 * widths.address;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file.At(address, prefix));
  ByteCursor cursor(start, widths);
  if (!cursor.TakeSignature("TREE") || cursor.Take(1) != 0) return Damaged();
  const bool is_leaf = cursor.Take(1) == 0;
  const std::uint64_t entries = cursor.Take(2);
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes items,
      file.At(address + prefix, entries * (widths.length + widths.address)));
  FOREBAY_RETURN_IF_ERROR(MakeRoom(pending_, entries));
  pending_.pop_back();
  const std::size_t others = pending_.size();
  ByteCursor keys(items, widths);
  for (std::uint64_t i = 0; i < entries; ++i) {
    keys.TakeLength();
    pending_.push_back({keys.TakeAddress(), is_leaf});
  }
  std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(others),
               pending_.end());
  return absl::OkStatus();
}

absl::Status LinkWalk::ReadSymbols(FileView& file, std::uint64_t address) {
  const Widths& widths = file.widths();
  constexpr std::uint64_t kPrefix = 8;
  // Bytes of a Symbol Table Entry (III.C) after its two addresses: a cache type
  // (2 for a soft link), a reserved part and the scratch-pad.
  constexpr std::uint64_t kScratch = 24;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file.At(address, kPrefix));
  ByteCursor prefix(start);
  if (!prefix.TakeSignature("SNOD")) return Damaged();
  prefix.Skip(2);
  const std::uint64_t symbols = prefix.Take(2);
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes entries,
      file.At(address + kPrefix, symbols * (2 * widths.address + kScratch)));
  pending_.pop_back();
  ByteCursor cursor(entries, widths);
  for (std::uint64_t i = 0; i < symbols; ++i) {
    const std::uint64_t name_at = cursor.TakeAddress();
    Link link;
    link.address = cursor.TakeAddress();
    if (cursor.Take(4) == 2) link.address = kNoAddress;
    cursor.Skip(kScratch - 4);
    if (!cursor.ok() || name_at >= names_.size()) return Damaged();
    link.name = std::string(ByteCursor(names_.subspan(name_at)).TakeText());
    if (link.name.empty()) return Damaged();
    FOREBAY_RETURN_IF_ERROR(Add(file, std::move(link)));
    // Links have different names, so all names together must fit into the heap.
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
