#include "server/dataset/hdf5/file_view.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/checksum.h"

namespace forebay::dataset::hdf5 {
namespace {

// Bounds the bytes that are read at once, whatever a file says. A chunk is read
// at once, and may be this large.
constexpr std::uint64_t kLongestPart = std::uint64_t{1} << 30;
// ForgetIfMany frees everything if the view has more than either of these
// amounts. From a smaller view, nothing is freed, because the next step often
// needs the same metadata.
constexpr std::uint64_t kMany = std::uint64_t{8} << 20;  // bytes
constexpr std::size_t kManyWalks = 1024;

}  // namespace

absl::StatusOr<std::uint64_t> FileView::Locate(std::uint64_t address,
                                               std::uint64_t length) const {
  if (address == kNoAddress)
    return absl::DataLossError("leads to an address that is none");
  if (base_ > size_ || address > size_ - base_ ||
      length > size_ - base_ - address) {
    return absl::DataLossError(absl::StrCat(
        "is truncated or damaged: it has ", size_, " bytes, and something of ",
        length, " bytes at address ", address));
  }
  return base_ + address;
}

absl::StatusOr<Bytes> FileView::At(std::uint64_t address,
                                   std::uint64_t length) {
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t offset, Locate(address, length));
  return AtOffset(offset, length);
}

absl::StatusOr<Bytes> FileView::AtOffset(std::uint64_t offset,
                                         std::uint64_t length) {
  FOREBAY_CHECK(offset <= size_ && length <= size_ - offset);
  if (length == 0) return Bytes();
  if (length > kLongestPart) {
    return absl::DataLossError(absl::StrCat(
        "has a piece of ", length, " bytes at byte ", offset,
        ", more than the ", kLongestPart, " that can be read at once"));
  }
  // If any part has all of the bytes, the last part that begins at or before
  // `offset` has them; see `parts_`.
  const auto after = parts_.upper_bound(offset);
  if (after != parts_.begin()) {
    const auto& [begin, bytes] = *std::prev(after);
    if (offset - begin <= bytes.size() &&
        length <= bytes.size() - (offset - begin))
      return Bytes(bytes).subspan(offset - begin, length);
  }
  // Reads become longer while the file is walked in order; see ReadSizes.
  if (last_read_.has_value()) read_length_.Adapt(*last_read_, {offset, length});
  wanted_ = read_length_.For({offset, length}, size_);
  return absl::UnavailableError("is to be read first");
}

absl::StatusOr<ByteCursor> FileView::Checked(std::uint64_t address,
                                             std::uint64_t length,
                                             std::string_view signature) {
  constexpr std::uint64_t kChecksum = 4;
  FOREBAY_CHECK(length >= signature.size() + kChecksum);
  FOREBAY_ASSIGN_OR_RETURN(const Bytes all, At(address, length));
  ByteCursor cursor(all.first(length - kChecksum), widths_);
  if (!cursor.TakeSignature(signature)) {
    return absl::DataLossError(absl::StrCat("is damaged: at address ", address,
                                            " there is no \"",
                                            std::string(signature), "\""));
  }
  ByteCursor end(all.last(kChecksum));
  if (end.Take(kChecksum) != Lookup3(all.first(length - kChecksum))) {
    return absl::DataLossError(absl::StrCat(
        "is damaged: the checksum of ", length, " bytes of metadata at byte ",
        base_ + address, " is wrong"));
  }
  return cursor;
}

absl::Status FileView::Take(Bytes bytes) {
  FOREBAY_CHECK(wanted_.has_value() && bytes.size() == wanted_->length);
  FOREBAY_RETURN_IF_ERROR(memory_->Grow(bytes.size()));
  held_ += bytes.size();
  // Parts that lie within the new one are dropped, and no longer count.
  const std::uint64_t end = wanted_->offset + wanted_->length;
  auto part = parts_.lower_bound(wanted_->offset);
  while (part != parts_.end() && part->first + part->second.size() <= end) {
    held_ -= part->second.size();
    memory_->Shrink(part->second.size());
    part = parts_.erase(part);
  }
  parts_[wanted_->offset].assign(bytes.begin(), bytes.end());
  last_read_ = *wanted_;
  wanted_.reset();
  return absl::OkStatus();
}

void FileView::Forget() {
  walks_.clear();
  parts_.clear();
  memory_->Shrink(held_);
  held_ = 0;
}

void FileView::ForgetIfMany() {
  if (held_ > kMany || walks_.size() > kManyWalks) Forget();
}

}  // namespace forebay::dataset::hdf5
