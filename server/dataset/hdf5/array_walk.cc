#include "server/dataset/hdf5/array_walk.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/base/check.h"
#include "server/base/status.h"

// A fixed array is a header and one block of elements, which has pages if it is
// large. An extensible array has an index block: the first elements, then the
// addresses of data blocks, then those of super blocks, which have addresses of
// data blocks themselves. The blocks of each further super block are more or
// larger, by powers of two.

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::uint64_t kChecksum = 4;
constexpr std::uint64_t kPrefix = 6;  // signature, version, client
constexpr std::uint64_t kMostPageBits = 24;

absl::Status Damaged() {
  return absl::DataLossError(
      "is damaged: an index of chunks contradicts "
      "itself");
}

// The first bit is the highest of the first byte.
bool HasBit(Bytes bits, std::uint64_t number) {
  return number / 8 < bits.size() &&
         (bits[number / 8] & (0x80 >> number % 8)) != 0;
}

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
  FOREBAY_RETURN_IF_ERROR(See(file, item, show, &next));
  pending_.pop_back();
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(pending_, next.size()));
  pending_.insert(pending_.end(), next.rbegin(), next.rend());
  if (done()) {
    // Of the first one nothing was counted.
    file.memory().Shrink((pending_.capacity() - 1) * sizeof(Item));
    std::vector<Item>().swap(pending_);
  }
  return absl::OkStatus();
}

absl::Status ArrayWalk::See(FileView& file, const Item& item, Show show,
                            std::vector<Item>* next) {
  const bool is_fixed = kind_ == Kind::kFixed;
  switch (item.part) {
    case Part::kHeader:
      return is_fixed ? SeeFixedHeader(file, item, next)
                      : SeeHeader(file, item, next);
    case Part::kIndexBlock:
      return SeeIndexBlock(file, item, show, next);
    case Part::kSuperBlock:
      return SeeSuperBlock(file, item, next);
    case Part::kDataBlock:
      return is_fixed ? SeeFixedBlock(file, item, show, next)
                      : SeeDataBlock(file, item, show);
    case Part::kPage:
      return SeePage(file, item, show);
  }
  return Damaged();
}

absl::Status ArrayWalk::SetElementBytes(FileView& file, std::uint64_t client,
                                        std::uint64_t bytes) {
  const std::uint64_t address = file.widths().address;
  has_filters_ = client == 1;
  element_bytes_ = bytes;
  const bool fits = has_filters_ ? bytes > address + 4 && bytes <= address + 12
                                 : bytes == address;
  return client <= 1 && fits ? absl::OkStatus() : Damaged();
}

absl::Status ArrayWalk::TakeElements(const FileView& file, Cursor& cursor,
                                     const Item& item, Show show) {
  // Many blocks may have the same address.
  shown_ += item.count;
  if (shown_ > file.size() / element_bytes_) return Damaged();
  for (std::uint64_t i = 0; i < item.count; ++i) {
    ArrayElement element;
    Cursor one = cursor;
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
  // A bit stands for a whole page, so that few bytes could make many items. All
  // but the last page of a block are whole.
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

absl::Status ArrayWalk::SeePage(FileView& file, const Item& item, Show show) {
  FOREBAY_ASSIGN_OR_RETURN(
      Cursor cursor,
      file.Checked(item.address, item.count * element_bytes_ + kChecksum, {}));
  return TakeElements(file, cursor, item, show);
}

absl::Status ArrayWalk::SeeFixedHeader(FileView& file, const Item& item,
                                       std::vector<Item>* next) {
  const Widths& widths = file.widths();
  FOREBAY_ASSIGN_OR_RETURN(
      Cursor cursor,
      file.Checked(item.address, 12 + widths.length + widths.address, "FAHD"));
  cursor.Skip(1);
  const std::uint64_t client = cursor.Take(1);
  FOREBAY_RETURN_IF_ERROR(SetElementBytes(file, client, cursor.Take(1)));
  const std::uint64_t page_bits = cursor.Take(1);
  const std::uint64_t count = cursor.TakeLength();
  const std::uint64_t block = cursor.TakeAddress();
  if (page_bits > kMostPageBits || count > file.size() / element_bytes_)
    return Damaged();
  page_elements_ = std::uint64_t{1} << page_bits;
  return Add(file, {Part::kDataBlock, block, 0, count, 0}, next);
}

absl::Status ArrayWalk::SeeFixedBlock(FileView& file, const Item& item,
                                      Show show, std::vector<Item>* next) {
  const std::uint64_t prefix = kPrefix + file.widths().address;
  if (item.count <= page_elements_) {
    FOREBAY_ASSIGN_OR_RETURN(
        Cursor cursor,
        file.Checked(item.address,
                     prefix + item.count * element_bytes_ + kChecksum, "FADB"));
    cursor.Skip(prefix - 4);
    return TakeElements(file, cursor, item, show);
  }
  const std::uint64_t bits = (Pages(item.count, page_elements_) + 7) / 8;
  FOREBAY_ASSIGN_OR_RETURN(
      Cursor cursor,
      file.Checked(item.address, prefix + bits + kChecksum, "FADB"));
  cursor.Skip(prefix - 4);
  return AddPages(file, item, item.address + prefix + bits + kChecksum,
                  cursor.TakeBytes(bits), 0, next);
}

absl::Status ArrayWalk::SeeHeader(FileView& file, const Item& item,
                                  std::vector<Item>* next) {
  const Widths& widths = file.widths();
  FOREBAY_ASSIGN_OR_RETURN(
      Cursor cursor,
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
  cursor.Skip(6 * widths.length);
  const std::uint64_t index = cursor.TakeAddress();
  if (!std::has_single_bit(least_elements_) ||
      !std::has_single_bit(least_blocks_) || page_bits > kMostPageBits ||
      bits > 48 || least_elements_ >> bits != 0)
    return Damaged();
  page_elements_ = std::uint64_t{1} << page_bits;
  offset_bytes_ = (bits + 7) / 8;
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

absl::Status ArrayWalk::SeeIndexBlock(FileView& file, const Item& item,
                                      Show show, std::vector<Item>* next) {
  const std::uint64_t address = file.widths().address;
  // The blocks of the first super blocks have their addresses here.
  const std::uint64_t direct = std::min(
      supers_,
      2 * (static_cast<std::uint64_t>(std::bit_width(least_blocks_)) - 1));
  std::uint64_t addresses = supers_ - direct;
  for (std::uint64_t super = 0; super < direct; ++super)
    addresses += BlocksOf(super);
  const std::uint64_t prefix = kPrefix + address;
  FOREBAY_ASSIGN_OR_RETURN(
      Cursor cursor, file.Checked(item.address,
                                  prefix + index_elements_ * element_bytes_ +
                                      addresses * address + kChecksum,
                                  "EAIB"));
  cursor.Skip(prefix - 4);
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

absl::Status ArrayWalk::SeeSuperBlock(FileView& file, const Item& item,
                                      std::vector<Item>* next) {
  const std::uint64_t address = file.widths().address;
  const std::uint64_t prefix = kPrefix + address + offset_bytes_;
  const std::uint64_t blocks = BlocksOf(item.super);
  const std::uint64_t elements = ElementsOf(item.super);
  const bool has_pages = elements > page_elements_;
  const std::uint64_t bits =
      has_pages ? (Pages(elements, page_elements_) + 7) / 8 : 0;
  FOREBAY_ASSIGN_OR_RETURN(
      Cursor cursor,
      file.Checked(item.address, prefix + blocks * (bits + address) + kChecksum,
                   "EASB"));
  cursor.Skip(prefix - 4);
  const Bytes written = cursor.TakeBytes(blocks * bits);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const Item block{Part::kDataBlock, cursor.TakeAddress(),
                     item.first + i * elements, elements, item.super};
    if (block.address == kNoAddress) continue;
    if (has_pages) {
      FOREBAY_RETURN_IF_ERROR(file.Locate(block.address, elements).status());
      FOREBAY_RETURN_IF_ERROR(
          AddPages(file, block, block.address + prefix + kChecksum, written,
                   i * Pages(elements, page_elements_), next));
    } else {
      FOREBAY_RETURN_IF_ERROR(Add(file, block, next));
    }
  }
  return cursor.ok() ? absl::OkStatus() : Damaged();
}

absl::Status ArrayWalk::SeeDataBlock(FileView& file, const Item& item,
                                     Show show) {
  const std::uint64_t prefix = kPrefix + file.widths().address + offset_bytes_;
  FOREBAY_ASSIGN_OR_RETURN(
      Cursor cursor,
      file.Checked(item.address,
                   prefix + item.count * element_bytes_ + kChecksum, "EADB"));
  cursor.Skip(prefix - 4);
  return TakeElements(file, cursor, item, show);
}

}  // namespace forebay::dataset::hdf5
