#include "server/dataset/hdf5/array_walk.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/base/check.h"
#include "server/base/status.h"

// A fixed array (HDF5 File Format Specification v3.0 VII.C) is a header and one
// data block of elements. A block with more elements than a page holds begins
// with a bitmap of the pages that were written. Each page has its own checksum.
//
// An extensible array (VII.D) has an index block, which contains the first
// elements, then the addresses of data blocks, then the addresses of super
// blocks ("secondary blocks"). A super block has the addresses of further data
// blocks. Super block s has 2^(s/2) data blocks of M * 2^((s+1)/2) elements
// each, where M is the header's Data Block Minimum Elements, and divisions
// round down. The first super blocks are not blocks of the file: the index
// block has the addresses of their data blocks.
//
// The walk keeps a stack of blocks to read. Each step reads one block and
// pushes its children in reverse, so that blocks are read in the order of their
// elements. Sizes come from the file and are untrusted: no step allocates more
// than the size of the file allows.

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::uint64_t kChecksum = 4;
constexpr std::uint64_t kPrefix = 6;  // signature (4 bytes), version, Client ID
// The most bits that the number of elements in a page may have. The number is
// bounded because a page is read at once.
constexpr std::uint64_t kMostPageBits = 24;

absl::Status Damaged() {
  return absl::DataLossError(
      "is damaged: an index of chunks contradicts "
      "itself");
}

// Returns bit `number` of a bitmap, whose first bit is the highest of the first
// byte. Bits beyond its end are 0.
bool HasBit(Bytes bits, std::uint64_t number) {
  return number / 8 < bits.size() &&
         (bits[number / 8] & (0x80 >> number % 8)) != 0;
}

// Returns the number of pages that the elements of a block take.
std::uint64_t Pages(std::uint64_t elements, std::uint64_t of_page) {
  return elements / of_page + (elements % of_page != 0 ? 1 : 0);
}

}  // namespace

absl::Status ArrayWalk::Step(FileView& file, Show show) {
  FOREBAY_CHECK(!pending_.empty());
  const Item item = pending_.back();
  std::vector<Item> next;
  const absl::Cleanup counted = [&] {
    file.memory().Shrink(next.capacity() * sizeof(Item));
  };
  FOREBAY_RETURN_IF_ERROR(ReadBlock(file, item, show, &next));
  pending_.pop_back();
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(pending_, next.size()));
  pending_.insert(pending_.end(), next.rbegin(), next.rend());
  if (done()) {
    // The constructor had no FileView, so it did not count the item that it
    // added.
    file.memory().Shrink((pending_.capacity() - 1) * sizeof(Item));
    std::vector<Item>().swap(pending_);
  }
  return absl::OkStatus();
}

absl::Status ArrayWalk::ReadBlock(FileView& file, const Item& item, Show show,
                                  std::vector<Item>* next) {
  const bool is_fixed = kind_ == Kind::kFixed;
  switch (item.part) {
    case Part::kHeader:
      return is_fixed ? ReadFixedHeader(file, item, next)
                      : ReadHeader(file, item, next);
    case Part::kIndexBlock:
      return ReadIndexBlock(file, item, show, next);
    case Part::kSuperBlock:
      return ReadSuperBlock(file, item, next);
    case Part::kDataBlock:
      return is_fixed ? ReadFixedBlock(file, item, show, next)
                      : ReadDataBlock(file, item, show);
    case Part::kPagedBlock:
      return ReadPagedBlock(file, item);
    case Part::kPage:
      return ReadPage(file, item, show);
  }
  return Damaged();
}

absl::Status ArrayWalk::SetElementBytes(FileView& file, std::uint64_t client,
                                        std::uint64_t bytes) {
  // Client ID 0 means chunks without filters: an element is an address. Client
  // ID 1 means chunks with filters: the address is followed by the chunk's
  // size, of 1 to 8 bytes, and a filter mask of 4 bytes.
  const std::uint64_t address = file.widths().address;
  has_filters_ = client == 1;
  element_bytes_ = bytes;
  const bool fits = has_filters_ ? bytes > address + 4 && bytes <= address + 12
                                 : bytes == address;
  return client <= 1 && fits ? absl::OkStatus() : Damaged();
}

absl::Status ArrayWalk::TakeElements(const FileView& file, ByteCursor& cursor,
                                     const Item& item, Show show) {
  // Damaged blocks may share an address, and would then show their elements
  // again and again.
  shown_elements_ += item.count;
  if (shown_elements_ > file.size() / element_bytes_) return Damaged();
  for (std::uint64_t i = 0; i < item.count; ++i) {
    ArrayElement element;
    ByteCursor one = cursor;
    element.address = one.TakeAddress();
    if (has_filters_) {
      const std::uint64_t address =
          static_cast<std::uint64_t>(cursor.rest().size() - one.rest().size());
      element.bytes = one.Take(element_bytes_ - address - 4);
      element.mask = static_cast<std::uint32_t>(one.Take(4));
    }
    if (!one.ok()) return Damaged();
    cursor.Skip(element_bytes_);
    FOREBAY_RETURN_IF_ERROR(show(item.first + i, element));
  }
  return absl::OkStatus();
}

absl::Status ArrayWalk::Add(FileView& file, const Item& item,
                            std::vector<Item>* next) {
  if (item.address == kNoAddress) return absl::OkStatus();
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(*next, 1));
  next->push_back(item);
  return absl::OkStatus();
}

absl::Status ArrayWalk::AddPages(FileView& file, const Item& block,
                                 std::uint64_t at, Bytes written,
                                 std::uint64_t page, std::vector<Item>* next) {
  const std::uint64_t bytes = page_elements_ * element_bytes_ + kChecksum;
  // Each bit of the bitmap stands for a page, so a few damaged bytes could make
  // many items. Only the last page of a block may be partial, and is not
  // counted.
  pages_ += Pages(block.count, page_elements_) - 1;
  if (pages_ > file.size() / bytes) return Damaged();
  for (std::uint64_t first = 0; first < block.count;
       first += page_elements_, ++page) {
    const std::uint64_t count = std::min(page_elements_, block.count - first);
    if (HasBit(written, page)) {
      FOREBAY_RETURN_IF_ERROR(
          Add(file, {Part::kPage, at, block.first + first, count, 0}, next));
    }
    at += bytes;
  }
  return absl::OkStatus();
}

absl::Status ArrayWalk::ReadPage(FileView& file, const Item& item, Show show) {
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(item.address, item.count * element_bytes_ + kChecksum, {}));
  return TakeElements(file, cursor, item, show);
}

absl::Status ArrayWalk::ReadFixedHeader(FileView& file, const Item& item,
                                        std::vector<Item>* next) {
  const Widths& widths = file.widths();
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(item.address, 12 + widths.length + widths.address, "FAHD"));
  cursor.Skip(1);
  const std::uint64_t client = cursor.Take(1);
  FOREBAY_RETURN_IF_ERROR(SetElementBytes(file, client, cursor.Take(1)));
  const std::uint64_t page_bits = cursor.Take(1);
  const std::uint64_t count = cursor.TakeLength();
  const std::uint64_t block = cursor.TakeAddress();
  // The only data block has all elements. Therefore the file's size bounds
  // their number.
  if (page_bits > kMostPageBits || count > file.size() / element_bytes_)
    return Damaged();
  page_elements_ = std::uint64_t{1} << page_bits;
  return Add(file, {Part::kDataBlock, block, 0, count, 0}, next);
}

absl::Status ArrayWalk::ReadFixedBlock(FileView& file, const Item& item,
                                       Show show, std::vector<Item>* next) {
  const std::uint64_t prefix = kPrefix + file.widths().address;
  if (item.count <= page_elements_) {
    FOREBAY_ASSIGN_OR_RETURN(
        ByteCursor cursor,
        file.Checked(item.address,
                     prefix + item.count * element_bytes_ + kChecksum, "FADB"));
    // The signature, 4 bytes of the prefix, was taken already.
    cursor.Skip(prefix - 4);
    return TakeElements(file, cursor, item, show);
  }
  const std::uint64_t bits = (Pages(item.count, page_elements_) + 7) / 8;
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(item.address, prefix + bits + kChecksum, "FADB"));
  cursor.Skip(prefix - 4);
  return AddPages(file, item, item.address + prefix + bits + kChecksum,
                  cursor.TakeBytes(bits), 0, next);
}

absl::Status ArrayWalk::ReadHeader(FileView& file, const Item& item,
                                   std::vector<Item>* next) {
  const Widths& widths = file.widths();
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(item.address, 16 + 6 * widths.length + widths.address,
                   "EAHD"));
  cursor.Skip(1);
  const std::uint64_t client = cursor.Take(1);
  FOREBAY_RETURN_IF_ERROR(SetElementBytes(file, client, cursor.Take(1)));
  const std::uint64_t bits = cursor.Take(1);
  index_elements_ = cursor.Take(1);
  least_elements_ = cursor.Take(1);
  least_blocks_ = cursor.Take(1);
  const std::uint64_t page_bits = cursor.Take(1);
  // Six statistics, such as the number of blocks, are not needed.
  cursor.Skip(6 * widths.length);
  const std::uint64_t index = cursor.TakeAddress();
  if (!std::has_single_bit(least_elements_) ||
      !std::has_single_bit(least_blocks_) || page_bits > kMostPageBits ||
      bits > 48 || least_elements_ >> bits != 0)
    return Damaged();
  page_elements_ = std::uint64_t{1} << page_bits;
  offset_bytes_ = (bits + 7) / 8;
  // There are as many super blocks as it takes to reach 2^bits elements.
  const auto least_bits =
      static_cast<std::uint64_t>(std::bit_width(least_elements_)) - 1;
  supers_ = 1 + bits - least_bits;
  return Add(file, {Part::kIndexBlock, index, 0, 0, 0}, next);
}

std::uint64_t ArrayWalk::BlocksOf(std::uint64_t super) const {
  return std::uint64_t{1} << (super / 2);
}

std::uint64_t ArrayWalk::ElementsOf(std::uint64_t super) const {
  return least_elements_ << ((super + 1) / 2);
}

absl::Status ArrayWalk::ReadIndexBlock(FileView& file, const Item& item,
                                       Show show, std::vector<Item>* next) {
  const std::uint64_t address = file.widths().address;
  // The index block has the addresses of the data blocks of the first `direct`
  // super blocks, which have fewer than `least_blocks_` data blocks each.
  const std::uint64_t direct = std::min(
      supers_,
      2 * (static_cast<std::uint64_t>(std::bit_width(least_blocks_)) - 1));
  std::uint64_t addresses = supers_ - direct;
  for (std::uint64_t super = 0; super < direct; ++super)
    addresses += BlocksOf(super);
  const std::uint64_t prefix = kPrefix + address;
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(item.address,
                   prefix + index_elements_ * element_bytes_ +
                       addresses * address + kChecksum,
                   "EAIB"));
  cursor.Skip(prefix - 4);
  // The block's own elements come first, and have no address of their own.
  const Item own{Part::kIndexBlock, 0, 0, index_elements_, 0};
  FOREBAY_RETURN_IF_ERROR(TakeElements(file, cursor, own, show));
  std::uint64_t first = index_elements_;
  for (std::uint64_t super = 0; super < supers_; ++super) {
    const std::uint64_t blocks = BlocksOf(super);
    const std::uint64_t elements = ElementsOf(super);
    for (std::uint64_t i = 0; super < direct && i < blocks; ++i) {
      FOREBAY_RETURN_IF_ERROR(Add(file,
                                  {Part::kDataBlock, cursor.TakeAddress(),
                                   first + i * elements, elements, super},
                                  next));
    }
    if (super >= direct) {
      FOREBAY_RETURN_IF_ERROR(
          Add(file, {Part::kSuperBlock, cursor.TakeAddress(), first, 0, super},
              next));
    }
    first += blocks * elements;
  }
  return cursor.ok() ? absl::OkStatus() : Damaged();
}

absl::Status ArrayWalk::ReadSuperBlock(FileView& file, const Item& item,
                                       std::vector<Item>* next) {
  const std::uint64_t address = file.widths().address;
  const std::uint64_t prefix = kPrefix + address + offset_bytes_;
  const std::uint64_t blocks = BlocksOf(item.super);
  const std::uint64_t elements = ElementsOf(item.super);
  const bool has_pages = elements > page_elements_;
  const std::uint64_t bits =
      has_pages ? (Pages(elements, page_elements_) + 7) / 8 : 0;
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(item.address, prefix + blocks * (bits + address) + kChecksum,
                   "EASB"));
  cursor.Skip(prefix - 4);
  const Bytes written = cursor.TakeBytes(blocks * bits);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const Item block{Part::kDataBlock, cursor.TakeAddress(),
                     item.first + i * elements, elements, item.super};
    if (block.address == kNoAddress) continue;
    if (has_pages) {
      // A block has at least a byte for each element. Without this check, a
      // damaged block could add an item for each of very many pages beyond the
      // file's end.
      FOREBAY_RETURN_IF_ERROR(file.Locate(block.address, elements).status());
      FOREBAY_RETURN_IF_ERROR(
          Add(file, {Part::kPagedBlock, block.address, 0, 0, 0}, next));
      FOREBAY_RETURN_IF_ERROR(
          AddPages(file, block, block.address + prefix + kChecksum, written,
                   i * Pages(elements, page_elements_), next));
    } else {
      FOREBAY_RETURN_IF_ERROR(Add(file, block, next));
    }
  }
  return cursor.ok() ? absl::OkStatus() : Damaged();
}

absl::Status ArrayWalk::ReadPagedBlock(FileView& file, const Item& item) const {
  const std::uint64_t prefix = kPrefix + file.widths().address + offset_bytes_;
  return file.Checked(item.address, prefix + kChecksum, "EADB").status();
}

absl::Status ArrayWalk::ReadDataBlock(FileView& file, const Item& item,
                                      Show show) {
  const std::uint64_t prefix = kPrefix + file.widths().address + offset_bytes_;
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(item.address,
                   prefix + item.count * element_bytes_ + kChecksum, "EADB"));
  cursor.Skip(prefix - 4);
  return TakeElements(file, cursor, item, show);
}

}  // namespace forebay::dataset::hdf5
