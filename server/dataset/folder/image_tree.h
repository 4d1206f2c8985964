#ifndef FOREBAY_SERVER_DATASET_FOLDER_IMAGE_TREE_H_
#define FOREBAY_SERVER_DATASET_FOLDER_IMAGE_TREE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/folder/folder_index.h"
#include "server/dataset/folder/tree_scan.h"
#include "server/storage/object_lister.h"

// The rules of torchvision.datasets.ImageFolder, whatever holds the images:
// which files are images, which classes there are, and in which order samples
// come. Likewise those of its DatasetFolder for .npy files and for audio files.
// Functions are thread-safe and never block.

namespace forebay::dataset::folder {

// The samples of a folder.
enum class FolderKind {
  kImages,       // images in class folders
  kClassArrays,  // .npy files in class folders
  kFlatArrays,   // .npy files right in it
  // kFlatArrays if there are such, else kClassArrays; an error if there are
  // both.
  kArrays,
  kClassAudio,  // audio files in class folders
  kFlatAudio,   // audio files right in it
};

// Whether a file of that name is an image.
bool IsImage(std::string_view name);
// Whether a file of that name is a .npy file.
bool IsNpyFile(std::string_view name);
// Whether a file of that name is an audio file.
bool IsAudio(std::string_view name);

// Whether the image at path `a` comes before that at `b`. A strict weak order.
bool SampleLess(std::string_view a, std::string_view b);

// The directories that objects' names tell of. Not thread-safe; counts what it
// stores in `memory`, which outlives it; never blocks.
class ObjectTree {
 public:
  explicit ObjectTree(base::WorkingMemory& memory,
                      FolderKind kind = FolderKind::kImages)
      : memory_(memory), kind_(kind) {}

  // Returns whether the object is a sample; else it may tell of a class. The
  // samples of one directory are added in the order of their names.
  // INVALID_ARGUMENT: its name is too long; RESOURCE_EXHAUSTED: its folder has
  // too many names, or that of `memory`.
  absl::StatusOr<bool> Add(const storage::ListedObject& object);
  // To be called once, at the end.
  std::vector<ScannedDirectory> Take();

 private:
  absl::StatusOr<bool> AddFile(std::string_view folder, std::string_view file,
                               const storage::ListedObject& object);
  absl::StatusOr<ScannedDirectory*> Directory(std::string_view path);

  base::WorkingMemory& memory_;
  const FolderKind kind_;
  std::map<std::string, ScannedDirectory, std::less<>> directories_;
};

// Makes the index of these directories, the root included. Their samples come
// in the order of their names. The other numbers are those of FolderIndexParts.
// Errors name `uri`: NOT_FOUND: there are no classes, or one has no sample;
// INVALID_ARGUMENT: kArrays, and they lie right in the root and in folders;
// RESOURCE_EXHAUSTED: that of `memory`, of which the index keeps its part.
absl::StatusOr<std::shared_ptr<const FolderIndex>> BuildFolderIndex(
    std::vector<ScannedDirectory> directories, const std::string& uri,
    std::int64_t scanned_at_nanos, std::uint64_t link_context,
    base::WorkingMemory& memory, FolderKind kind = FolderKind::kImages);

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_IMAGE_TREE_H_
