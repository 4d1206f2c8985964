#include "server/dataset/hdf5/global_heap.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/element_type.h"

// A dataset of variable length has a reference in each row: a length, and a
// Global Heap ID. Rows may refer to heaps in any order, so the references are
// first sorted by heap and object index. Each heap is walked once, from its
// start, because it has no list of its objects. Only the header of each object
// says how long that object is.
//
// Time is linear in the references and in the heaps' objects, plus the sort.
// Heaps that overlap are refused, because one byte of a damaged file could then
// belong to any number of heaps.

namespace forebay::dataset::hdf5 {
namespace {

// The largest index of an object in a heap, which has 16 bits.
constexpr std::uint64_t kMostNumber = 65535;
// The most values that one step finds. The limit keeps steps short.
constexpr std::size_t kOfStep = 4096;

absl::Status Damaged(std::uint64_t address) {
  return absl::DataLossError(
      absl::StrCat("is damaged: the global heap at address ", address,
                   " contradicts itself"));
}

}  // namespace

GlobalHeapWalk::GlobalHeapWalk(std::string references,
                               std::uint64_t element_bytes,
                               std::uint64_t longest_copy)
    : references_(std::move(references)),
      element_bytes_(element_bytes),
      longest_copy_(longest_copy) {}

absl::Status GlobalHeapWalk::Begin(FileView& file) {
  const Widths& widths = file.widths();
  const std::uint64_t bytes = ReferenceBytes(widths);
  const std::uint64_t rows = references_.size() / bytes;
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(places_, rows));
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(order_, rows));
  places_.resize(rows);
  ByteCursor cursor({reinterpret_cast<const std::uint8_t*>(references_.data()),
                     references_.size()},
                    widths);
  for (std::uint64_t row = 0; row < rows; ++row) {
    // The length counts elements. An empty value refers to nothing.
    places_[row].length = cursor.Take(4) * element_bytes_;
    Reference reference;
    reference.address = cursor.TakeAddress();
    reference.number = cursor.Take(4);
    reference.row = row;
    if (places_[row].length > 0) order_.push_back(reference);
  }
  std::sort(order_.begin(), order_.end(),
            [](const Reference& a, const Reference& b) {
              return std::tie(a.address, a.number, a.row) <
                     std::tie(b.address, b.number, b.row);
            });
  return absl::OkStatus();
}

std::uint64_t GlobalHeapWalk::memory() const {
  const std::uint64_t own = std::string().capacity();
  return order_.capacity() * sizeof(Reference) +
         (places_.capacity() + heap_.values.capacity()) * sizeof(ValuePlace) +
         references_.capacity() - own + copies_.capacity() - own;
}

absl::Status GlobalHeapWalk::Step(FileView& file) {
  FOREBAY_CHECK(!done());
  for (std::size_t i = 0; i < kOfStep && !done(); ++i) {
    const Reference& reference = order_[next_];
    if (reference.number == 0 || reference.number > kMostNumber)
      return Damaged(reference.address);
    if (heap_.address != reference.address)
      FOREBAY_RETURN_IF_ERROR(Open(file, reference.address));
    // The objects of a heap are read in order until the wanted one is known.
    // Several references may lead to the same object.
    while (heap_.values.size() <= reference.number ||
           heap_.values[reference.number].offset == 0) {
      FOREBAY_RETURN_IF_ERROR(FindNext(file));
    }
    const ValuePlace& object_place = heap_.values[reference.number];
    ValuePlace& place = places_[reference.row];
    if (object_place.length < place.length) return Damaged(reference.address);
    place.offset = object_place.offset;
    if (longest_copy_ > 0) FOREBAY_RETURN_IF_ERROR(Keep(file, reference));
    ++next_;
  }
  return absl::OkStatus();
}

absl::Status GlobalHeapWalk::Open(FileView& file, std::uint64_t address) {
  // Heaps are read in the order of their addresses. If a heap overlaps the
  // previous one, the file is damaged.
  if (address < heap_.end) return Damaged(address);
  // The header of a heap has a signature, a version, three reserved bytes and
  // the size of the whole heap. Objects follow, aligned to 8 bytes.
  const std::uint64_t header = 8 + file.widths().length;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes bytes, file.At(address, header));
  ByteCursor cursor(bytes, file.widths());
  if (!cursor.TakeSignature("GCOL")) return Damaged(address);
  cursor.Skip(4);
  const std::uint64_t length = cursor.TakeLength();
  FOREBAY_RETURN_IF_ERROR(file.Locate(address, length).status());
  heap_.address = address;
  heap_.end = address + length;
  // The next heap reuses the memory, which stays counted.
  heap_.values.clear();
  heap_.next = address + (header + 7) / 8 * 8;
  return absl::OkStatus();
}

absl::Status GlobalHeapWalk::FindNext(FileView& file) {
  const std::uint64_t header = (8 + file.widths().length + 7) / 8 * 8;
  if (heap_.next > heap_.end || heap_.end - heap_.next < header)
    return Damaged(heap_.address);
  FOREBAY_ASSIGN_OR_RETURN(const Bytes bytes, file.At(heap_.next, header));
  ByteCursor cursor(bytes, file.widths());
  // An object has an index, a reference count (2 bytes, unused), a reserved
  // part (4 bytes) and its size. Its data is padded to a multiple of 8 bytes.
  const std::uint64_t number = cursor.Take(2);
  cursor.Skip(6);
  const std::uint64_t length = cursor.TakeLength();
  const std::uint64_t room = heap_.end - heap_.next - header;
  // Object 0 is the free space, which comes last. If the walk reaches it, the
  // heap does not have the wanted object.
  if (number == 0 || length > room) return Damaged(heap_.address);
  if (heap_.values.size() <= number) {
    FOREBAY_RETURN_IF_ERROR(
        file.memory().MakeRoom(heap_.values, number + 1 - heap_.values.size()));
    heap_.values.resize(number + 1);
  }
  FOREBAY_ASSIGN_OR_RETURN(heap_.values[number].offset,
                           file.Locate(heap_.next + header, length));
  heap_.values[number].length = length;
  heap_.next += header + std::min(room, (length + 7) / 8 * 8);
  return absl::OkStatus();
}

absl::Status GlobalHeapWalk::Keep(FileView& file, const Reference& reference) {
  ValuePlace& place = places_[reference.row];
  if (place.length > longest_copy_) {
    return absl::UnimplementedError(absl::StrCat(
        "has ", place.length, " bytes in row ", reference.row, ", more than ",
        longest_copy_, "; only one dataset of each file can have longer rows"));
  }
  FOREBAY_ASSIGN_OR_RETURN(const Bytes value,
                           file.AtOffset(place.offset, place.length));
  FOREBAY_RETURN_IF_ERROR(file.memory().MakeRoom(copies_, value.size()));
  place.offset = copies_.size();
  copies_.append(value.begin(), value.end());
  return absl::OkStatus();
}

}  // namespace forebay::dataset::hdf5
