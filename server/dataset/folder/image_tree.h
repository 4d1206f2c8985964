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

// The rules of torchvision.datasets.ImageFolder, for images in folders, buckets
// and archives: which files are images, which classes there are, and in which
// order samples come. For .npy files and audio files, the rules are those of
// torchvision's DatasetFolder. The functions are thread-safe and never block.

namespace forebay::dataset::folder {

// The kinds of files that are samples, and where they lie in the root.
enum class FolderKind {
  kImages,       // images in class folders
  kClassArrays,  // .npy files in class folders
  kFlatArrays,   // .npy files directly in the root
  // kFlatArrays if there are .npy files directly in the root, otherwise
  // kClassArrays. Files in both places are an error.
  kArrays,
  kClassAudio,  // audio files in class folders
  kFlatAudio,   // audio files directly in the root
};

// Whether the file name `name` has the suffix of an image.
bool IsImage(std::string_view name);
// Whether the file name `name` has the suffix of a .npy file.
bool IsNpyFile(std::string_view name);
// Whether the file name `name` has the suffix of an audio file.
bool IsAudio(std::string_view name);

// Whether the image at path `a` comes before the image at path `b`. This is a
// strict weak order.
bool SampleLess(std::string_view a, std::string_view b);

// Collects the directories that appear in the names of objects.
//
// Used by one thread. Owns the directories until Take. Counts them in `memory`,
// which outlives the tree. Never blocks. Only Add has errors.
class ObjectTree {
 public:
  explicit ObjectTree(base::WorkingMemory& memory,
                      FolderKind kind = FolderKind::kImages)
      : memory_(memory), kind_(kind) {}

  // Adds an object. Returns whether the object is a sample. If the object is
  // not a sample, its name may still add a class. Callers add the samples of a
  // directory in the order of their names. INVALID_ARGUMENT: the name is too
  // long. RESOURCE_EXHAUSTED: the folder has too many names, or `memory` cannot
  // grow.
  absl::StatusOr<bool> Add(const storage::ListedObject& object);
  // Returns the directories, including the root. To be called once, at the end.
  std::vector<ScannedDirectory> Take();

 private:
  // Adds the file `file` of `folder`, if it has a sample's suffix.
  absl::StatusOr<bool> AddFile(std::string_view folder, std::string_view file,
                               const storage::ListedObject& object);
  // Returns the directory with the path `path`. Adds the directory if
  // necessary.
  absl::StatusOr<ScannedDirectory*> Directory(std::string_view path);

  base::WorkingMemory& memory_;
  const FolderKind kind_;
  std::map<std::string, ScannedDirectory, std::less<>> directories_;
};

// Builds the index of `directories`, which include the root. Each directory's
// samples are in the order of their names. `scanned_at_nanos` and
// `link_context` are those of FolderIndexParts. The index gets its own
// reservation from `memory`. Errors name `uri`. NOT_FOUND: there are no
// classes, or a class has no sample. INVALID_ARGUMENT: samples of kArrays lie
// both directly in the root and in folders. RESOURCE_EXHAUSTED: `memory` cannot
// grow.
absl::StatusOr<std::shared_ptr<const FolderIndex>> BuildFolderIndex(
    std::vector<ScannedDirectory> directories, const std::string& uri,
    std::int64_t scanned_at_nanos, std::uint64_t link_context,
    base::WorkingMemory& memory, FolderKind kind = FolderKind::kImages);

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_IMAGE_TREE_H_
