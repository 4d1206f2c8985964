// Fuzzes the file that stores an index of records. Reading the file gives an
// error or a usable index.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "server/dataset/index_file.h"
#include "server/dataset/records/record_index_format.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_index.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::dataset::records::DecodeRecordIndex;
using forebay::dataset::records::EncodeRecordIndex;
using forebay::dataset::records::RecordIndex;
using forebay::fuzz::AreEqual;
using forebay::fuzz::ReadAsTheyAreAndSealed;
using forebay::fuzz::Require;

void Read(absl::Span<const std::uint8_t> bytes) {
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "an index");
  forebay::dataset::IndexFileReader file(bytes);
  const auto decoded = DecodeRecordIndex(file, memory);
  if (!decoded.ok()) return;
  const RecordIndex& index = **decoded;
  std::uint64_t longest = 0;
  for (std::uint64_t id = 0; id < index.size(); ++id) {
    const RecordIndex::Extent extent = index.ExtentOf(id);
    const auto file = index.FileAt(extent.file);
    Require(!file.name.empty() && file.name.find('\0') == std::string::npos);
    const std::uint64_t size = index.GatheredSize(extent.file);
    Require(extent.length > 0 && extent.offset <= size &&
            extent.length <= size - extent.offset);
    longest = std::max(longest, extent.length);
    if (index.has_keys())
      Require(index.KeyOf(id).size() <= index.longest_key());
  }
  Require(longest == index.longest());
  const std::string again = EncodeRecordIndex(index);
  Require(AreEqual(bytes, again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ReadAsTheyAreAndSealed({data, size}, Read);
  return 0;
}
