#include "server/dataset/folder/folder_scan.h"

#include <string_view>
#include <utility>

#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/folder/image_tree.h"
#include "server/dataset/folder/tree_scan.h"
#include "server/dataset/object_listing.h"

namespace forebay::dataset::folder {
namespace {

// The purpose of the memory, as named in errors of the budget.
constexpr char kWhat[] = "its index";

// Returns the part of the tree where samples of the given kind may lie.
TreePart PartOf(FolderKind kind) {
  switch (kind) {
    case FolderKind::kArrays:
      return TreePart::kAll;
    case FolderKind::kFlatArrays:
    case FolderKind::kFlatAudio:
      return TreePart::kRoot;
    default:
      return TreePart::kFolders;
  }
}

// Returns the function that accepts the names of samples of the given kind.
bool (*FilterOf(FolderKind kind))(std::string_view name) {
  switch (kind) {
    case FolderKind::kImages:
      return IsImage;
    case FolderKind::kClassAudio:
    case FolderKind::kFlatAudio:
      return IsAudio;
    default:
      return IsNpyFile;
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FolderIndex>> ScanFolder(
    const storage::local::LocalRoot& root, const ScanOptions& options) {
  base::WorkingMemory memory(options.budget, kWhat);
  auto scanned = ScanTree(root, FilterOf(options.kind), options.threads, memory,
                          options.stop, PartOf(options.kind));
  if (!scanned.ok()) {
    return base::Annotate(scanned.status(), root.uri());
  }
  return BuildFolderIndex(
      std::move(scanned->directories), root.uri(), options.now_nanos,
      scanned->has_links ? options.link_context : 0, memory, options.kind);
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> ListFolder(
    storage::ObjectLister& lister, const storage::Root& root,
    const ScanOptions& options) {
  base::WorkingMemory memory(options.budget, kWhat);
  ObjectTree tree(memory, options.kind);
  const absl::Status listed = TakeObjects(
      lister, root, options.stop, [&](const storage::ListedObject& object) {
        return tree.Add(object).status();
      });
  if (!listed.ok()) return base::Annotate(listed, root.uri());
  return BuildFolderIndex(tree.Take(), root.uri(), options.now_nanos, 0, memory,
                          options.kind);
}

}  // namespace forebay::dataset::folder
