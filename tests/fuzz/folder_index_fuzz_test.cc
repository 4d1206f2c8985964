// Fuzzes the file that stores an index of a folder. Reading the file gives an
// error or a usable index.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "server/dataset/folder/folder_index_format.h"
#include "server/dataset/index_file.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_index.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::dataset::folder::DecodeFolderIndex;
using forebay::dataset::folder::EncodeFolderIndex;
using forebay::dataset::folder::FolderIndex;
using forebay::fuzz::AreEqual;
using forebay::fuzz::ReadAsTheyAreAndSealed;
using forebay::fuzz::Require;

constexpr std::uint32_t kFormat = 1;

void Read(absl::Span<const std::uint8_t> bytes) {
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "an index");
  forebay::dataset::IndexFileReader file(bytes);
  const auto decoded = DecodeFolderIndex(file, kFormat, memory);
  if (!decoded.ok()) return;
  const FolderIndex& index = **decoded;
  std::uint64_t largest = 0;
  for (std::uint64_t id = 0; id < index.size(); ++id) {
    const forebay::dataset::Sample sample = index.At(id);
    Require(sample.object.find('\0') == std::string::npos);
    Require(index.is_flat() || static_cast<std::uint64_t>(index.LabelOf(id)) <
                                   index.classes().size());
    Require(index.LengthOf(id) == sample.length);
    largest = std::max(largest, sample.length);
  }
  Require(largest == index.largest_sample());
  for (const auto& directory : index.parts().directories) {
    index.PathOf(directory);
  }
  index.IsSettled();
  const std::string again = EncodeFolderIndex(index, kFormat);
  Require(AreEqual(bytes, again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ReadAsTheyAreAndSealed({data, size}, Read);
  return 0;
}
