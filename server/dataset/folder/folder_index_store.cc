#include "server/dataset/folder/folder_index_store.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/folder/folder_index_format.h"
#include "server/dataset/index_file.h"
#include "server/dataset/index_folder.h"
#include "server/dataset/own_file.h"

namespace forebay::dataset::folder {
namespace {

// An upper bound of the bytes of a file's header and checksum.
constexpr std::uint64_t kFileBytes = 4096;

}  // namespace

std::string FolderIndexStore::PathOf(const FolderKey& key) const {
  return absl::StrCat(directory_, "/", absl::Hex(key.device), "-",
                      absl::Hex(key.inode), "-", key.format, ".index");
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> FolderIndexStore::Load(
    const FolderKey& key) const {
  FOREBAY_RETURN_IF_ERROR(probe_.Check());
  const std::string path = PathOf(key);
  base::WorkingMemory memory(budget_, "a kept index");
  FOREBAY_ASSIGN_OR_RETURN(IndexFileReader file, IndexFileReader::Open(path));
  auto index = DecodeFolderIndex(file, key.format, memory);
  if (!index.ok()) return base::Annotate(index.status(), path);
  return index;
}

absl::Status FolderIndexStore::Save(const FolderKey& key,
                                    const FolderIndex& index) const {
  FOREBAY_RETURN_IF_ERROR(probe_.Check());
  // The encoded file lies in memory until it is written.
  base::WorkingMemory memory(budget_, "the file of an index");
  FOREBAY_RETURN_IF_ERROR(memory.Grow(index.memory() + kFileBytes));
  FOREBAY_RETURN_IF_ERROR(
      ReplaceOwnFile(PathOf(key), EncodeFolderIndex(index, key.format)));
  TrimIndexFolder(directory_, RoomInIndexFolder(directory_));
  return absl::OkStatus();
}

absl::Status FolderIndexStore::Remove(const FolderKey& key) const {
  FOREBAY_RETURN_IF_ERROR(probe_.Check());
  return RemoveOwnFile(PathOf(key));
}

}  // namespace forebay::dataset::folder
