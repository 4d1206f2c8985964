#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_BUILDER_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/folder/image_tree.h"
#include "server/dataset/zip/zip_index.h"
#include "server/dataset/zip/zip_parser.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::zip {

// Builds the index of the images below `folder` in these archives, as if all
// archives were extracted into one tree. An empty `folder` stands for all
// images. Classes, labels and order are those of folder/image_tree.h. If an
// archive has several entries of one path, the last entry counts, as when the
// archive is extracted. `kind` says which files in class folders are samples;
// "image" here means any such file. The index keeps its part of `memory`.
// Thread-safe; never blocks.
//
// NOT_FOUND: there is no such folder. INVALID_ARGUMENT: two archives have
// images with the same path. UNIMPLEMENTED: an image takes 4 GiB or more in its
// archive, or all archives together have over 128 TiB. RESOURCE_EXHAUSTED:
// `memory` has no room. Other errors: those of BuildFolderIndex, which name
// `uri`.
absl::StatusOr<std::shared_ptr<const ZipIndex>> BuildZipIndex(
    const std::string& uri, const std::string& folder,
    absl::Span<const storage::ListedObject> archives,
    std::vector<ArchiveContents> contents, base::WorkingMemory& memory,
    folder::FolderKind kind = folder::FolderKind::kImages);

// Returns the deepest folder below which all images lie in further folders.
// These further folders are probably the classes, so a user who got a single
// class should open the returned folder instead. The returned path is relative
// to ZipIndexParts::folder, and empty if there is no such folder. Ignores
// "__MACOSX", in which macOS stores its files' metadata.
std::string FolderOfClasses(const folder::FolderIndex& images);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_BUILDER_H_
