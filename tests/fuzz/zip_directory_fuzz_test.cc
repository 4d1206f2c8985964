// Fuzzes the reader of zip directories. The reader ends for any bytes, and
// requests only bytes of the archive. It finds the same members however many
// bytes it is shown at a time, and they lie within the archive.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/zip/zip_directory.h"
#include "server/dataset/zip/zip_member.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::dataset::zip::DataOffset;
using forebay::dataset::zip::kHeaderBytes;
using forebay::dataset::zip::ZipDirectory;
using forebay::dataset::zip::ZipMember;
using forebay::dataset::zip::ZipMethod;
using forebay::fuzz::Require;
using Bytes = absl::Span<const std::uint8_t>;

// The most reads that an archive needs: its end twice, a Zip64 end twice, and
// the directory.
constexpr int kMostReads = 5;

struct Result {
  std::string error;
  std::vector<ZipMember> members;
};

// Shows an archive in pieces. A piece has only the wanted bytes if `alone`, or
// all bytes up to the archive's end.
Result Read(Bytes bytes, bool alone) {
  Result result;
  auto directory = ZipDirectory::Create("archive", bytes.size());
  if (!directory.ok()) return {directory.status().ToString(), {}};
  int reads = 0;
  while (const auto wanted = directory->wanted()) {
    Require(++reads <= kMostReads);
    Require(wanted->length > 0 && wanted->offset <= bytes.size() &&
            wanted->length <= bytes.size() - wanted->offset);
    const auto status = directory->Parse(
        wanted->offset,
        bytes.subspan(wanted->offset, alone ? wanted->length : Bytes::npos),
        &result.members);
    if (!status.ok()) {
      Require(!directory->wanted().has_value());
      result.error = status.ToString();
    }
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const Bytes bytes(data, size);
  const Result result = Read(bytes, true);
  const Result again = Read(bytes, false);
  Require(again.error == result.error && again.members == result.members);
  std::uint64_t taken = 0;
  for (const ZipMember& member : result.members) {
    Require(member.name.find('\0') == std::string::npos &&
            !member.name.ends_with('/'));
    const std::uint64_t least =
        kHeaderBytes + member.name.size() + member.compressed;
    Require(member.header_offset <= size &&
            least <= size - member.header_offset);
    taken += least;
    Require(member.method == ZipMethod::kStored
                ? member.length == member.compressed
                : member.length <= 1032 * member.compressed);
    const auto offset =
        DataOffset(member.name, bytes.subspan(member.header_offset));
    if (!offset.ok()) continue;
    Require(*offset >= kHeaderBytes + member.name.size());
  }
  Require(taken <= size);
  return 0;
}
