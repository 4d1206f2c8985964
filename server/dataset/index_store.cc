#include "server/dataset/index_store.h"

#include "absl/strings/str_cat.h"
#include "server/dataset/index_folder.h"
#include "server/dataset/own_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset {
namespace {

// An upper bound of the bytes of a file's header and checksum.
constexpr std::uint64_t kFileBytes = 4096;

}  // namespace

// If two datasets had the same digest, each would replace the other's file.
// Then neither would find its own index, and both would scan.
std::string IndexStore::PathOf(std::string_view dataset) const {
  const XXH128_hash_t digest = XXH3_128bits(dataset.data(), dataset.size());
  return absl::StrCat(directory_, "/",
                      absl::Hex(digest.high64, absl::kZeroPad16),
                      absl::Hex(digest.low64, absl::kZeroPad16), ending_);
}

absl::Status IndexStore::OfOthers(std::string_view dataset,
                                  std::string_view what) const {
  return absl::NotFoundError(absl::StrCat(PathOf(dataset), ": is of other ",
                                          std::string(what),
                                          " than there are now"));
}

absl::Status IndexStore::Save(std::string_view dataset, std::uint64_t bytes,
                              absl::FunctionRef<std::string()> encode) const {
  FOREBAY_RETURN_IF_ERROR(Check());
  // The encoded file lies in memory until it is written.
  base::WorkingMemory memory(budget_, "the file of an index");
  FOREBAY_RETURN_IF_ERROR(memory.Grow(bytes + kFileBytes));
  FOREBAY_RETURN_IF_ERROR(ReplaceOwnFile(PathOf(dataset), encode()));
  TrimIndexFolder(directory_, RoomInIndexFolder(directory_));
  return absl::OkStatus();
}

}  // namespace forebay::dataset
