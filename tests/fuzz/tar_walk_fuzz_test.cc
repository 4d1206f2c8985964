// Fuzzes the walk through a tar archive. The walk ends for any bytes. The files
// that it finds lie within the archive, whatever pieces of the archive it is
// shown.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/shards/tar_walk.h"

namespace {

using forebay::dataset::shards::kTarBlock;
using forebay::dataset::shards::TarMember;
using forebay::dataset::shards::TarWalk;
using Bytes = std::vector<std::uint8_t>;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Writes the correct checksum into a block, so that the code after the check is
// reached.
void RepairChecksum(std::uint8_t* block) {
  std::memset(block + 148, ' ', 8);
  unsigned sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) sum += block[i];
  if (sum == 8u * ' ') {
    std::memset(block + 148, 0, 8);  // an empty block marks the end
    return;
  }
  char digits[8];
  std::snprintf(digits, sizeof(digits), "%06o", sum);
  std::memcpy(block + 148, digits, sizeof(digits));
}

struct Result {
  std::string error;
  std::vector<TarMember> files;
};

// Walks through an archive that is shown in pieces. A piece has only the wanted
// bytes if `alone`, or all bytes up to the archive's end.
Result Walk(Bytes& bytes, bool repair, bool alone) {
  Result result;
  auto walk = TarWalk::Create("archive", bytes.size());
  if (!walk.ok()) return {walk.status().ToString(), {}};
  while (const auto wanted = walk->wanted()) {
    Require(wanted->offset <= bytes.size() &&
            wanted->length <= bytes.size() - wanted->offset);
    std::uint8_t* at = bytes.data() + wanted->offset;
    if (repair && wanted->length == kTarBlock) RepairChecksum(at);
    const std::size_t length =
        alone ? wanted->length : bytes.size() - wanted->offset;
    const absl::Status status =
        walk->Parse(wanted->offset, {at, length}, &result.files);
    if (!status.ok()) {
      Require(!walk->wanted().has_value());
      result.error = status.ToString();
      break;
    }
    Require(!walk->wanted().has_value() ||
            walk->wanted()->offset > wanted->offset);
  }
  for (const TarMember& file : result.files) {
    Require(file.offset % kTarBlock == 0 && file.offset <= bytes.size() &&
            file.length <= bytes.size() - file.offset);
    Require(file.name.find('\0') == std::string::npos);
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  Bytes bytes(data, data + size);
  Walk(bytes, false, true);
  const Result repaired = Walk(bytes, true, true);
  const Result again = Walk(bytes, false, false);
  Require(again.error == repaired.error &&
          again.files.size() == repaired.files.size());
  for (std::size_t i = 0; i < again.files.size(); ++i) {
    Require(again.files[i].name == repaired.files[i].name &&
            again.files[i].offset == repaired.files[i].offset &&
            again.files[i].length == repaired.files[i].length);
  }
  return 0;
}
