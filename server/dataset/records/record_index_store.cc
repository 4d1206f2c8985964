#include "server/dataset/records/record_index_store.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/own_file.h"
#include "server/dataset/records/record_index_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset::records {
namespace {

// Bytes of the file besides the index's parts.
constexpr std::uint64_t kFileBytes = 4096;

}  // namespace

// Two datasets with one digest replace each other's file. Then neither finds
// its own, and both are scanned.
std::string RecordIndexStore::PathOf(std::string_view dataset) const {
  const XXH128_hash_t digest = XXH3_128bits(dataset.data(), dataset.size());
  return absl::StrCat(directory_, "/",
                      absl::Hex(digest.high64, absl::kZeroPad16),
                      absl::Hex(digest.low64, absl::kZeroPad16), ".records");
}

std::string RecordIndexStore::PointsPathOf(std::string_view dataset) const {
  return absl::StrCat(PathOf(dataset), ".points");
}

absl::StatusOr<std::shared_ptr<const RecordIndex>> RecordIndexStore::Load(
    std::string_view dataset,
    absl::Span<const storage::ListedObject> files) const {
  const std::string path = PathOf(dataset);
  base::WorkingMemory memory(budget_, "a kept index");
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes,
                           ReadOwnFile(path, memory));
  auto index = DecodeRecordIndex(bytes, memory, [&] {
    return inflated::LoadPoints(PointsPathOf(dataset), memory);
  });
  if (!index.ok()) return base::Annotate(index.status(), path);
  if (!(*index)->IsOf(files)) {
    return absl::NotFoundError(
        absl::StrCat(path, ": is of other files than there are now"));
  }
  return index;
}

absl::Status RecordIndexStore::Save(std::string_view dataset,
                                    const RecordIndex& index) const {
  base::WorkingMemory memory(budget_, "the file of an index");
  FOREBAY_RETURN_IF_ERROR(memory.Grow(index.memory() + kFileBytes));
  return ReplaceOwnFile(PathOf(dataset), EncodeRecordIndex(index));
}

}  // namespace forebay::dataset::records
