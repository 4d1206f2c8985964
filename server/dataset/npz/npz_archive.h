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

// The arrays in a .npz file, which is a zip archive of .npy files. Functions
// are thread-safe and never block; their errors give the reason alone.

namespace forebay::dataset::npz {

// Returns the name that numpy.load has for a member: its own without ".npy".
// Nothing if it is no array.
std::optional<std::string_view> ArrayNameOf(const zip::ZipMember& member);

// Returns the array of that name, or null. Of several with one name it is the
// last, as for Python's zipfile.
const zip::ZipMember* FindArray(absl::Span<const zip::ZipMember> members,
                                std::string_view name);

// The names of all arrays, each once, in the order of the members.
std::vector<std::string> ArrayNamesOf(absl::Span<const zip::ZipMember> members);

// INVALID_ARGUMENT: there is no array of that name, but others.
absl::Status NoSuchArray(std::string_view name,
                         absl::Span<const zip::ZipMember> members);

// Adds the bytes of one more array of a sample to `inflated`, if it is
// deflated. UNIMPLEMENTED: they are too many to be inflated for a sample.
absl::Status CountInflated(const zip::ZipMember& member,
                           std::uint64_t* inflated);

// Returns the members of a file, all of whose bytes are `archive`. Errors:
// those of ZipDirectory.
absl::StatusOr<std::vector<zip::ZipMember>> ReadMembers(
    absl::Span<const std::uint8_t> archive);

// Returns where a member's data lies in `part`, which begins with its header.
// DATA_LOSS: it does not lie there, or not all of it.
absl::StatusOr<FieldRange> DataOf(const zip::ZipMember& member,
                                  absl::Span<const std::uint8_t> part);

// Makes a member's bytes of its data, as they were before they were compressed.
// They are `data` itself if it was stored, else all of `room`, which has as
// many bytes as the member. Errors: those of zip::Inflate and zip::CheckCrc.
absl::StatusOr<absl::Span<const std::uint8_t>> Unpack(
    const zip::ZipMember& member, absl::Span<const std::uint8_t> data,
    absl::Span<std::uint8_t> room);

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_ARCHIVE_H_
