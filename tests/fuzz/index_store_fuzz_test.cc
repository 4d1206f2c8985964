// The file that keeps an index: whatever its bytes, reading it gives an error
// or an index that can be used.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/types/span.h"
#include "server/dataset/index_file.h"
#include "server/dataset/index_format.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::dataset::DecodeIndex;
using forebay::dataset::EncodeIndex;
using forebay::dataset::Index;
using forebay::dataset::kIndexFileChecksumBytes;
using forebay::dataset::SealIndexFile;

constexpr std::uint32_t kFormat = 1;

void Require(bool condition) {
  if (!condition) std::abort();
}

void Read(absl::Span<const std::uint8_t> bytes) {
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "an index");
  const auto decoded = DecodeIndex(bytes, kFormat, memory);
  if (!decoded.ok()) return;
  const Index& index = **decoded;
  std::uint64_t largest = 0;
  for (std::uint64_t id = 0; id < index.size(); ++id) {
    const forebay::dataset::Sample sample = index.At(id);
    Require(sample.object.find('\0') == std::string::npos);
    Require(static_cast<std::uint64_t>(index.LabelOf(id)) <
            index.classes().size());
    Require(index.LengthOf(id) == sample.length);
    largest = std::max(largest, sample.length);
  }
  Require(largest == index.largest_sample());
  for (const auto& directory : index.parts().directories) {
    index.PathOf(directory);
  }
  index.IsSettled(index.parts().scanned_at_nanos);
  const std::string again = EncodeIndex(index, kFormat);
  Require(again.size() == bytes.size() &&
          std::memcmp(again.data(), bytes.data(), bytes.size()) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  Read({data, size});
  if (size < kIndexFileChecksumBytes) return 0;
  // With a fitting checksum, so that what lies behind it is reached.
  std::string sealed(data, data + size - kIndexFileChecksumBytes);
  SealIndexFile(sealed);
  Read({reinterpret_cast<const std::uint8_t*>(sealed.data()), sealed.size()});
  return 0;
}
