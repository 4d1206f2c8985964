#include "server/dataset/hdf5/superblock.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
// It begins at 0, or at this offset or some power of two of it.
constexpr std::uint64_t kFirstOffset = 512;
constexpr std::uint64_t kLastOffset = std::uint64_t{1} << 30;

// Bits of the File Consistency Flags (HDF5 File Format Specification, Level
// 0A). A writer sets them when it opens the file, and clears them when it
// closes the file.
constexpr unsigned kOpenForWriting = 1;
constexpr unsigned kOpenForSwmrWriting = 4;

bool IsWidth(std::uint64_t width) {
  return width == 2 || width == 4 || width == 8;
}

// Checks where a file says that it ends. That counts from `base`, where it says
// that it begins, but it begins at `offset`, if bytes were put before it.
absl::Status CheckEnd(const FileView& file, std::uint64_t offset,
                      std::uint64_t base, std::uint64_t end) {
  if (end == kNoAddress || end < base || offset > file.size() ||
      end - base > file.size() - offset) {
    return absl::DataLossError(absl::StrCat(
        "is truncated: it has ", file.size(), " of ", end, " bytes"));
  }
  return absl::OkStatus();
}

// The cursor stands behind the version.
absl::StatusOr<std::uint64_t> ReadOld(FileView& file, std::uint64_t offset,
                                      unsigned version) {
  constexpr std::uint64_t kFixed = 24;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes fixed, file.At(offset, kFixed));
  const Widths widths{fixed[13], fixed[14]};
  // The versions of free space, of the root's entry and of shared messages are
  // 0 in all files; the two ranks of trees of groups are not.
  const bool has_versions = fixed[9] == 0 && fixed[10] == 0 && fixed[12] == 0;
  const bool has_ranks =
      (fixed[16] | fixed[17]) != 0 && (fixed[18] | fixed[19]) != 0;
  if (!IsWidth(widths.address) || !IsWidth(widths.length) || !has_versions ||
      !has_ranks)
    return absl::DataLossError("is damaged: its superblock contradicts itself");
  const std::uint64_t more = version == 1 ? 4 : 0;
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes rest,
      file.At(offset + kFixed, more + 6 * widths.address + 4));
  Cursor cursor(rest, widths);
  cursor.Skip(more);
  const std::uint64_t base = cursor.TakeAddress();
  const std::uint64_t free_space = cursor.TakeAddress();
  const std::uint64_t end = cursor.TakeAddress();
  const std::uint64_t driver = cursor.TakeAddress();
  cursor.TakeAddress();
  const std::uint64_t root = cursor.TakeAddress();
  constexpr std::uint64_t kMostCached = 2;  // kinds of what an entry keeps
  if (cursor.Take(4) > kMostCached || free_space != kNoAddress)
    return absl::DataLossError("is damaged: its superblock contradicts itself");
  FOREBAY_RETURN_IF_ERROR(CheckEnd(file, offset, base, end));
  if (driver != kNoAddress) {
    return absl::UnimplementedError(
        "is a part of a file that a driver of HDF5 has split, or damaged: it "
        "has "
        "a driver information block; repack it by `h5repack`");
  }
  file.SetAddresses(offset, widths);
  return root;
}

absl::Status CheckFlags(unsigned flags) {
  constexpr std::string_view kHowToEnd =
      "close the file in its writer, or, if its writer ended without closing "
      "it, run `h5clear -s` on it";
  if ((flags & kOpenForSwmrWriting) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("is marked as open for SWMR writing, during which it "
                     "cannot be read here: ",
                     std::string(kHowToEnd)));
  }
  if ((flags & kOpenForWriting) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "is marked as open for writing: ", std::string(kHowToEnd)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> ReadNew(FileView& file, std::uint64_t offset) {
  constexpr std::uint64_t kFixed = 12;
  constexpr std::size_t kFlags = 11;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes fixed, file.At(offset, kFixed));
  const Widths widths{fixed[9], fixed[10]};
  if (!IsWidth(widths.address) || !IsWidth(widths.length))
    return absl::DataLossError("is damaged: its superblock contradicts itself");
  file.SetAddresses(0, widths);
  FOREBAY_ASSIGN_OR_RETURN(
      Cursor cursor,
      file.Checked(offset, kFixed + 4 * widths.address + 4, kSignature));
  FOREBAY_RETURN_IF_ERROR(CheckFlags(fixed[kFlags]));
  cursor.Skip(kFixed - kSignature.size());
  const std::uint64_t base = cursor.TakeAddress();
  cursor.TakeAddress();
  const std::uint64_t end = cursor.TakeAddress();
  const std::uint64_t root = cursor.TakeAddress();
  FOREBAY_RETURN_IF_ERROR(CheckEnd(file, offset, base, end));
  file.SetAddresses(offset, widths);
  return root;
}

}  // namespace

absl::StatusOr<std::uint64_t> ReadSuperblock(FileView& file) {
  constexpr std::uint64_t kStart = 9;  // bytes, with the version
  file.SetAddresses(0, {});
  for (std::uint64_t offset = 0;
       offset <= kLastOffset && offset + kStart <= file.size();
       offset = offset == 0 ? kFirstOffset : 2 * offset) {
    FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file.At(offset, kStart));
    if (!Cursor(start).TakeSignature(kSignature)) continue;
    const unsigned version = start[kSignature.size()];
    if (version <= 1) return ReadOld(file, offset, version);
    if (version <= 3) return ReadNew(file, offset);
    return absl::UnimplementedError(
        absl::StrCat("has a superblock of version ", version,
                     "; versions 0 to 3 can be read"));
  }
  return absl::DataLossError("is no HDF5 file: it has no superblock");
}

}  // namespace forebay::dataset::hdf5
