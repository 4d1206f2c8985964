// Fuzzes the file that stores an index of zip archives. Reading the file gives
// an error or a usable index.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "server/dataset/index_file.h"
#include "server/dataset/zip/zip_index_builder.h"
#include "server/dataset/zip/zip_index_format.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_index.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::dataset::zip::DecodeZipIndex;
using forebay::dataset::zip::EncodeZipIndex;
using forebay::dataset::zip::FolderOfClasses;
using forebay::dataset::zip::ZipIndex;
using forebay::fuzz::AreEqual;
using forebay::fuzz::ReadAsTheyAreAndSealed;
using forebay::fuzz::Require;

void Read(absl::Span<const std::uint8_t> bytes) {
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "an index");
  forebay::dataset::IndexFileReader file(bytes);
  const auto decoded = DecodeZipIndex(file, memory);
  if (!decoded.ok()) return;
  const ZipIndex& index = **decoded;
  std::uint64_t longest = 0;
  for (std::uint64_t id = 0; id < index.size(); ++id) {
    const ZipIndex::Extent extent = index.ExtentOf(id);
    const auto member = index.MemberOf(id);
    const auto archive = index.ArchiveAt(extent.archive);
    Require(!archive.name.empty());
    Require(archive.name.find('\0') == std::string::npos);
    Require(extent.offset <= archive.version.size);
    Require(extent.length <= archive.version.size - extent.offset);
    Require(member.name.size() + member.compressed < extent.length);
    Require(member.length <= 1032 * member.compressed);
    const auto label = index.images().LabelOf(id);
    Require(label >= 0 &&
            static_cast<std::size_t>(label) < index.images().classes().size());
    longest = std::max(longest, extent.length);
  }
  Require(longest == index.longest_extent());
  Require(FolderOfClasses(index.images()).find('\0') == std::string::npos);
  const std::string again = EncodeZipIndex(index);
  Require(AreEqual(bytes, again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ReadAsTheyAreAndSealed({data, size}, Read);
  return 0;
}
