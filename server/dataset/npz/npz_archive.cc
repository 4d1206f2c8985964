#include "server/dataset/npz/npz_archive.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/zip/zip_directory.h"

namespace forebay::dataset::npz {
namespace {

constexpr std::string_view kEnding = ".npy";

// The most arrays that an error lists.
constexpr std::size_t kNamedArrays = 10;

// Bounds the bytes that the arrays of one sample are decompressed to. Deflate
// shrinks zeros by a factor of a thousand, so a small file could ask for any
// amount of memory.
constexpr std::uint64_t kMostDecompressed = std::uint64_t{1} << 30;  // bytes

// Bounds the directory of a file that is parsed for each sample. Parsed members
// take about ten times the directory's bytes, and no budget counts them.
constexpr std::uint64_t kLongestDirectory = std::uint64_t{4} << 20;

}  // namespace

std::optional<std::string_view> ArrayNameOf(const zip::ZipMember& member) {
  std::string_view name = member.name;
  if (!name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  return name;
}

const zip::ZipMember* FindArray(absl::Span<const zip::ZipMember> members,
                                std::string_view name) {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const zip::ZipMember& member) {
                                    return ArrayNameOf(member) == name;
                                  });
  return found == members.rend() ? nullptr : &*found;
}

std::vector<std::string> ArrayNamesOf(
    absl::Span<const zip::ZipMember> members) {
  std::vector<std::string> names;
  std::set<std::string_view> distinct_names;
  for (const zip::ZipMember& member : members) {
    const auto name = ArrayNameOf(member);
    if (name.has_value() && distinct_names.insert(*name).second)
      names.emplace_back(*name);
  }
  return names;
}

absl::Status NoSuchArray(std::string_view name,
                         absl::Span<const zip::ZipMember> members) {
  std::vector<std::string> names = ArrayNamesOf(members);
  const std::size_t count = names.size();
  names.resize(std::min(count, kNamedArrays));
  std::string reason = absl::StrCat("there is no array ", std::string(name));
  if (count > 0)
    absl::StrAppend(&reason, "; there are ", absl::StrJoin(names, ", "));
  if (count > names.size())
    absl::StrAppend(&reason, " and ", count - names.size(), " more");
  return absl::InvalidArgumentError(reason);
}

absl::Status CountDecompressed(const zip::ZipMember& member,
                               std::uint64_t* decompressed) {
  if (member.method != zip::ZipMethod::kDeflated) return absl::OkStatus();
  if (member.length <= kMostDecompressed - *decompressed) {
    *decompressed += member.length;
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      "has deflated arrays of more than ", kMostDecompressed,
      " bytes, which are not decompressed for one sample: write it by "
      "numpy.savez"));
}

absl::StatusOr<std::vector<zip::ZipMember>> ReadMembers(
    absl::Span<const std::uint8_t> archive) {
  FOREBAY_ASSIGN_OR_RETURN(
      zip::ZipDirectory directory,
      zip::ZipDirectory::Create("the archive", archive.size()));
  std::vector<zip::ZipMember> members;
  std::uint64_t directory_bytes = 0;
  // The directory asks for its bytes in steps; each is a part of `archive`.
  while (const auto wanted = directory.wanted()) {
    directory_bytes += wanted->length;
    if (directory_bytes > kLongestDirectory) {
      return absl::UnimplementedError(
          "has a directory of some megabytes, too long for one sample");
    }
    FOREBAY_RETURN_IF_ERROR(directory.Parse(
        wanted->offset, archive.subspan(wanted->offset, wanted->length),
        &members));
  }
  return members;
}

absl::StatusOr<FieldRange> DataOf(const zip::ZipMember& member,
                                  absl::Span<const std::uint8_t> part) {
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t offset,
                           zip::DataOffset(member.name, part));
  if (offset > part.size() || member.compressed > part.size() - offset) {
    return absl::DataLossError(
        "its data reaches beyond what the archive has of it");
  }
  return FieldRange{offset, member.compressed};
}

absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
    const zip::ZipMember& member, absl::Span<const std::uint8_t> data,
    absl::Span<std::uint8_t> room) {
  if (member.method == zip::ZipMethod::kDeflated) {
    FOREBAY_RETURN_IF_ERROR(zip::Inflate(data, room));
    data = room;
  }
  FOREBAY_RETURN_IF_ERROR(zip::CheckCrc(data, member.crc32));
  return data;
}

}  // namespace forebay::dataset::npz
