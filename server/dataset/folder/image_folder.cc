#include "server/dataset/folder/image_folder.h"

#include <utility>

#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/folder/image_tree.h"
#include "server/dataset/folder/tree_scan.h"
#include "server/dataset/object_listing.h"

namespace forebay::dataset::folder {
namespace {

// Errors say so when memory lacks.
constexpr char kWhat[] = "its index";

}  // namespace

absl::StatusOr<std::shared_ptr<const FolderIndex>> ScanImageFolder(
    const storage::local::LocalRoot& root, const ScanOptions& options) {
  base::WorkingMemory memory(options.budget, kWhat);
  auto scanned = ScanTree(root, IsImage, options.threads, memory, options.stop);
  if (!scanned.ok()) {
    return base::Annotate(scanned.status(), root.uri());
  }
  return BuildFolderIndex(
      std::move(scanned->directories), root.uri(), options.now_nanos,
      scanned->has_links ? options.link_context : 0, memory);
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> ListImageFolder(
    storage::ObjectLister& lister, const storage::Root& root,
    const ScanOptions& options) {
  base::WorkingMemory memory(options.budget, kWhat);
  ObjectTree tree(memory);
  const absl::Status listed = TakeObjects(
      lister, root, options.stop, [&](const storage::ListedObject& object) {
        return tree.Add(object).status();
      });
  if (!listed.ok()) return base::Annotate(listed, root.uri());
  return BuildFolderIndex(tree.Take(), root.uri(), options.now_nanos, 0,
                          memory);
}

}  // namespace forebay::dataset::folder
