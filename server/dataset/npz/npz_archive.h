#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_ARCHIVE_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_ARCHIVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/zip/zip_member.h"

// Finds and decompresses the arrays of a .npz file, which is a zip archive of
// .npy files (numpy.savez). Functions are thread-safe, own nothing and never
// block; their errors give the reason alone, without a file name.

namespace forebay::dataset::npz {

// Returns the name by which numpy.load knows a member: the member's name
// without ".npy". Returns nothing if the member is not an array.
std::optional<std::string_view> ArrayNameOf(const zip::ZipMember& member);

// Returns the array of that name, or null if there is none. If several members
// have the name, the last one is returned, as Python's zipfile does.
const zip::ZipMember* FindArray(absl::Span<const zip::ZipMember> members,
                                std::string_view name);

// Returns the names of all arrays, each once, in the order of the members.
std::vector<std::string> ArrayNamesOf(absl::Span<const zip::ZipMember> members);

// Makes the INVALID_ARGUMENT error for a missing array. The message lists the
// arrays that the file has instead.
absl::Status NoSuchArray(std::string_view name,
                         absl::Span<const zip::ZipMember> members);

// Adds the bytes of one more array of a sample to `decompressed`, if the array
// is deflated. UNIMPLEMENTED: the sum is more than may be decompressed for one
// sample.
absl::Status CountDecompressed(const zip::ZipMember& member,
                               std::uint64_t* decompressed);

// Returns the members of a file that is in memory as a whole (`archive`).
// Errors: those of ZipDirectory; UNIMPLEMENTED: the file's central directory
// has more than 4 MiB.
absl::StatusOr<std::vector<zip::ZipMember>> ReadMembers(
    absl::Span<const std::uint8_t> archive);

// Returns the extent of a member's compressed data within `part`, which begins
// with the member's local file header (APPNOTE 4.3.7). DATA_LOSS: `part` ends
// before the data does, or begins with the header of another member.
absl::StatusOr<FieldRange> DataOf(const zip::ZipMember& member,
                                  absl::Span<const std::uint8_t> part);

// Returns a member's bytes, after a check of their CRC-32. The bytes of a
// stored member are `data` itself. A deflated member is decompressed from
// `data` into `room`, which has exactly as many bytes as the member. Errors:
// those of zip::Inflate and zip::CheckCrc.
absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
    const zip::ZipMember& member, absl::Span<const std::uint8_t> data,
    absl::Span<std::uint8_t> room);

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_ARCHIVE_H_
