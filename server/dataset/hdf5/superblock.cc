#include "server/dataset/hdf5/superblock.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
// Offsets in bytes at which a superblock may begin: 0, 512, 1024, and so on,
// each twice the one before. A user block may fill the bytes before the
// superblock.
constexpr std::uint64_t kFirstOffset = 512;
constexpr std::uint64_t kLastOffset = std::uint64_t{1} << 30;

// Bits of the File Consistency Flags (HDF5 File Format Specification v3.0
// II.A). A writer sets them when it opens the file, and clears them when it
// closes the file.
constexpr unsigned kOpenForWriting = 1;
constexpr unsigned kOpenForSwmrWriting = 4;

// Whether addresses or lengths of a file may have `width` bytes.
bool IsWidth(std::uint64_t width) {
  return width == 2 || width == 4 || width == 8;
}

// Checks that the file is at least as long as its superblock says. The End of
// File Address (`end`) counts from the Base Address (`base`). The HDF5 file
// really begins at `offset`, which differs from `base` if bytes were put before
// the HDF5 file.
absl::Status CheckEnd(const FileView& file, std::uint64_t offset,
                      std::uint64_t base, std::uint64_t end) {
  if (end == kNoAddress || end < base || offset > file.size() ||
      end - base > file.size() - offset) {
    return absl::DataLossError(absl::StrCat(
        "is truncated: it has ", file.size(), " of ", end, " bytes"));
  }
  return absl::OkStatus();
}

// Reads a superblock of version 0 or 1. These versions have no checksum. To
// find damage, fields that have only one valid value are compared with that
// value.
absl::StatusOr<std::uint64_t> ReadOld(FileView& file, std::uint64_t offset,
                                      unsigned version) {
  constexpr std::uint64_t kFixed = 24;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes fixed, file.At(offset, kFixed));
  const Widths widths{fixed[13], fixed[14]};
  // Bytes 9, 10 and 12 are versions of other structures, which are 0 in all
  // files. Bytes 16 to 19 are the leaf and internal node K of groups, which are
  // not 0. Bytes 13 and 14 are the size of offsets and of lengths.
  const bool has_versions = fixed[9] == 0 && fixed[10] == 0 && fixed[12] == 0;
  const bool has_ranks =
      (fixed[16] | fixed[17]) != 0 && (fixed[18] | fixed[19]) != 0;
  if (!IsWidth(widths.address) || !IsWidth(widths.length) || !has_versions ||
      !has_ranks)
    return absl::DataLossError("is damaged: its superblock contradicts itself");
  // Version 1 has two more fields here: the Indexed Storage Internal Node K and
  // a reserved part.
  const std::uint64_t more = version == 1 ? 4 : 0;
  FOREBAY_ASSIGN_OR_RETURN(
      const Bytes rest,
      file.At(offset + kFixed, more + 6 * widths.address + 4));
  ByteCursor cursor(rest, widths);
  cursor.Skip(more);
  const std::uint64_t base = cursor.TakeAddress();
  const std::uint64_t free_space = cursor.TakeAddress();
  const std::uint64_t end = cursor.TakeAddress();
  const std::uint64_t driver = cursor.TakeAddress();
  cursor.TakeAddress();
  const std::uint64_t root = cursor.TakeAddress();
  // The Cache Type of the root's Symbol Table Entry (III.C) is at most 2.
  constexpr std::uint64_t kMostCached = 2;
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

// Refuses a file that a writer has open. Rows that the writer has not written
// yet would be read as fill values.
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

// Reads a superblock of version 2 or 3, which has fewer fields and a checksum.
// The flags are checked after the checksum, because damage could set them.
absl::StatusOr<std::uint64_t> ReadNew(FileView& file, std::uint64_t offset) {
  constexpr std::uint64_t kFixed = 12;
  constexpr std::size_t kFlags = 11;
  FOREBAY_ASSIGN_OR_RETURN(const Bytes fixed, file.At(offset, kFixed));
  const Widths widths{fixed[9], fixed[10]};
  if (!IsWidth(widths.address) || !IsWidth(widths.length))
    return absl::DataLossError("is damaged: its superblock contradicts itself");
  // The superblock itself is found by its offset in the file.
  file.SetAddresses(0, widths);
  FOREBAY_ASSIGN_OR_RETURN(
      ByteCursor cursor,
      file.Checked(offset, kFixed + 4 * widths.address + 4, kSignature));
  FOREBAY_RETURN_IF_ERROR(CheckFlags(fixed[kFlags]));
  cursor.Skip(kFixed - kSignature.size());
  const std::uint64_t base = cursor.TakeAddress();
  cursor.TakeAddress();
  const std::uint64_t end = cursor.TakeAddress();
  const std::uint64_t root = cursor.TakeAddress();
  FOREBAY_RETURN_IF_ERROR(CheckEnd(file, offset, base, end));
  // All other addresses count from where the superblock was found.
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
    if (!ByteCursor(start).TakeSignature(kSignature)) continue;
    const unsigned version = start[kSignature.size()];
    if (version <= 1) return ReadOld(file, offset, version);
    if (version <= 3) return ReadNew(file, offset);
    return absl::UnimplementedError(
        absl::StrCat("has a superblock of version ", version,
                     "; versions 0 to 3 can be read"));
  }
  return absl::DataLossError("is not an HDF5 file: it has no superblock");
}

}  // namespace forebay::dataset::hdf5
