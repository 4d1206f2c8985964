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

// Makes the index of the images below `folder` (all, if that is empty) in these
// archives, each with its contents, as if they were unpacked into one tree.
// Classes, labels and order are those of folder/image_tree.h. If an archive has
// a path twice, the last one counts, as it does when they are unpacked. The
// index keeps its part of `memory`. `kind` says which files are samples, in
// class folders; "image" stands for any below. Thread-safe; never blocks.
//
// NOT_FOUND: there is no such folder, or those of BuildFolderIndex, which name
// `uri`. INVALID_ARGUMENT: two archives have an image of one path.
// UNIMPLEMENTED: an image takes 4 GiB in its archive, or the archives 128 TiB
// together. RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<std::shared_ptr<const ZipIndex>> BuildZipIndex(
    const std::string& uri, const std::string& folder,
    absl::Span<const storage::ListedObject> archives,
    std::vector<ArchiveContents> contents, base::WorkingMemory& memory,
    folder::FolderKind kind = folder::FolderKind::kImages);

// Returns a folder in which the images would have several classes, or at least
// a class that says something: all images have one class here, because they lie
// below one folder that itself has folders. Its path begins where those of the
// images do. Empty if there is none. Leaves out "__MACOSX", in which macOS
// keeps what its files have besides their bytes.
std::string FolderOfClasses(const folder::FolderIndex& images);

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_BUILDER_H_
