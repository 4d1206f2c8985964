#include "server/dataset/folder/folder_catalog.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/dataset.pb.h"
#include "proto/dataset_texts.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/folder/folder_dataset.h"
#include "server/dataset/folder/folder_scan.h"
#include "server/dataset/folder/revalidation.h"
#include "server/dataset/folder/tree_scan.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// An opening takes the index that other loaders have open, if that index is
// still right. Otherwise it takes the index on disk, if that one is right.
// Otherwise it scans or lists the root. The index of a local folder is compared
// with the folder at each opening (IsUsable). If another caller made the index
// while this caller waited, the index need not be settled
// (FolderIndex::IsSettled): another scan would find about the same.
//
// If a read finds that an index is wrong, the index is marked stale in memory.
// MarkStale must not block, so RemoveStale removes the index's file later.
// Until then stale_ keeps the file from being loaded.

namespace forebay::dataset::folder {
namespace {

using storage::local::LocalRoot;

// The bit that is set in the keys of all remote roots. No device has such a
// large number.
constexpr std::uint64_t kNoDevice = std::uint64_t{1} << 63;

// Returns which files of the folder are samples.
absl::StatusOr<FolderKind> KindOf(const proto::DatasetSpec& spec,
                                  const storage::Root& root) {
  if (spec.has_audio_folder()) {
    return spec.audio_folder().flat() ? FolderKind::kFlatAudio
                                      : FolderKind::kClassAudio;
  }
  if (!spec.has_npy_folder()) return FolderKind::kImages;
  switch (spec.npy_folder().layout()) {
    case proto::NpyFolder::ANY:
      return FolderKind::kArrays;
    case proto::NpyFolder::FLAT:
      return FolderKind::kFlatArrays;
    case proto::NpyFolder::CLASSES:
      return FolderKind::kClassArrays;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(root.uri(), ": ", proto::kNotNpyFields));
  }
}

// Returns a number that is different for each kind of index of a root. The
// number is saved in index files, so it must not change.
std::uint32_t FormatOf(FolderKind kind) {
  if (kind == FolderKind::kImages) return proto::DatasetSpec::IMAGE_FOLDER;
  const bool are_audio =
      kind == FolderKind::kClassAudio || kind == FolderKind::kFlatAudio;
  const std::uint32_t format =
      are_audio ? proto::DatasetSpec::IMAGE_FOLDER : proto::DatasetSpec::NPY;
  return format | static_cast<std::uint32_t>(kind) << 8;
}

// Returns the field that has a file's contents.
Field ContentOf(FolderKind kind) {
  if (kind == FolderKind::kImages)
    return {.name = "image", .kind = proto::FieldKind::kImage};
  if (kind == FolderKind::kClassAudio || kind == FolderKind::kFlatAudio)
    return {.name = "audio", .kind = proto::FieldKind::kAudio};
  return {.name = "array", .kind = proto::FieldKind::kArray};
}

// Returns the key of a local folder. The key has the folder's device and inode,
// and does not depend on its path.
absl::StatusOr<FolderKey> LocalKey(const LocalRoot& root, FolderKind kind) {
  const auto fd = root.OpenDirectory("");
  if (!fd.ok()) return base::Annotate(fd.status(), root.uri());
  FOREBAY_ASSIGN_OR_RETURN(const DirectoryVersion version,
                           VersionOfDirectory(fd->get(), root.uri()));
  return FolderKey{version.device, version.inode, FormatOf(kind)};
}

// Returns the key of a bucket, which has a digest of the bucket's identity in
// place of device and inode.
FolderKey RemoteKey(const storage::Root& root, FolderKind kind) {
  const auto identity = root.identity();
  FOREBAY_CHECK(identity != nullptr);
  const XXH128_hash_t hash = XXH3_128bits(identity->data(), identity->size());
  return {hash.high64 | kNoDevice, hash.low64, FormatOf(kind)};
}

// Returns a digest of the paths by which symbolic links are resolved. The
// digest is never 0: 0 means that an index has no links.
std::uint64_t LinkContext(const LocalRoot& root,
                          const proto::DatasetSpec& spec) {
  std::string paths = root.uri();
  for (const std::string& path : spec.extra_root_paths()) {
    absl::StrAppend(&paths, std::string(1, '\0'), path);
  }
  return XXH3_64bits(paths.data(), paths.size()) | 1;
}

// Whether an index may be used again. Every change since its scan must be sure
// to show, and no change may show. `is_new` says that the index was made while
// the caller waited.
bool IsUsable(const LocalRoot& root, const FolderIndex& index,
              std::uint64_t link_context, bool is_new,
              std::vector<std::string>* warnings, const std::stop_token& stop) {
  const std::uint64_t links = index.parts().link_context;
  return (links == 0 || links == link_context) &&
         (is_new || index.IsSettled()) &&
         IsUnchanged(root, index, stop, warnings);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> FolderCatalog::Open(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    std::vector<std::string>* warnings, const std::stop_token& stop) {
  const auto* const local = dynamic_cast<const LocalRoot*>(root.get());
  ScanOptions scan;
  FOREBAY_ASSIGN_OR_RETURN(scan.kind, KindOf(spec, *root));
  scan.budget = options_.budget;
  FolderKey key;
  if (local == nullptr) {
    key = RemoteKey(*root, scan.kind);
  } else {
    FOREBAY_ASSIGN_OR_RETURN(key, LocalKey(*local, scan.kind));
    scan.link_context = LinkContext(*local, spec);
  }
  FOREBAY_ASSIGN_OR_RETURN(
      IndexPtr index,
      search_.Find(key, root->uri(), stop,
                   [&](Search::Start start, const std::stop_token& search) {
                     scan.stop = search;
                     return local == nullptr
                                ? FindRemote(*root, key, scan, start, warnings)
                                : FindLocal(*local, key, scan, std::move(start),
                                            warnings);
                   }));
  if (index_cache_ != nullptr)
    index_cache_->Keep(
        absl::StrCat("folder ", key.device, " ", key.inode, " ", key.format),
        index, index->memory());
  return std::make_shared<const FolderDataset>(
      std::move(index), std::move(root), ContentOf(scan.kind));
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> FolderCatalog::FindLocal(
    const LocalRoot& root, const FolderKey& key, ScanOptions scan,
    Search::Start start, std::vector<std::string>* warnings) const {
  if (start.item == nullptr) {
    const IndexPtr saved = Load(root, key, warnings);
    if (saved != nullptr && IsUsable(root, *saved, scan.link_context,
                                     /*is_new=*/false, warnings, scan.stop)) {
      return saved;
    }
  } else if (start.item->stale()) {
    warnings->push_back(absl::StrCat(
        root.uri(),
        ": a file was changed in its place: the index is built anew"));
  } else if (IsUsable(root, *start.item, scan.link_context, start.waited,
                      warnings, scan.stop)) {
    return start.item;
  }
  scan.threads = options_.scan_threads;
  scan.now_nanos = options_.wall_clock();
  auto scanned = ScanFolder(root, scan);
  // If there is not enough memory for the old and the new index, the old one is
  // freed before the next scan.
  if (absl::IsResourceExhausted(scanned.status()) && start.item != nullptr) {
    start.item.reset();
    scanned = ScanFolder(root, scan);
  }
  FOREBAY_ASSIGN_OR_RETURN(IndexPtr index, std::move(scanned));
  // An index that is not settled is not saved, since the next opening could not
  // use it.
  if (index->IsSettled()) Save(root, key, *index, warnings);
  if (start.item == nullptr || !index->IsSameAs(*start.item)) return index;
  // If nothing has changed, loaders go on to share one copy in memory.
  start.item->Confirm(scan.now_nanos);
  return start.item;
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> FolderCatalog::FindRemote(
    const storage::Root& root, const FolderKey& key, ScanOptions scan,
    const Search::Start& start, std::vector<std::string>* warnings) const {
  const IndexPtr earlier =
      start.item != nullptr ? start.item : Load(root, key, warnings);
  const bool usable = earlier != nullptr && !earlier->stale();
  scan.now_nanos = options_.wall_clock();
  if (usable) {
    const std::int64_t age = scan.now_nanos - earlier->scanned_at_nanos();
    if (age >= 0 && age <= options_.recent_list_nanos) return earlier;
  }
  auto index = ListFolder(*options_.lister, root, scan);
  if (usable && absl::IsUnavailable(index.status())) {
    warnings->push_back(
        absl::StrCat(index.status().message(),
                     ": the index of an earlier list is used instead"));
    return earlier;
  }
  FOREBAY_RETURN_IF_ERROR(index.status());
  Save(root, key, **index, warnings);
  if (earlier == nullptr || earlier->version() != (*index)->version())
    return index;
  // If nothing has changed, loaders go on to share one copy in memory.
  earlier->Confirm(scan.now_nanos);
  return earlier;
}

// If loading fails, adds a warning, unless the index is missing.
std::shared_ptr<const FolderIndex> FolderCatalog::Load(
    const storage::Root& root, const FolderKey& key,
    std::vector<std::string>* warnings) const {
  if (!store_.has_value() || IsStaleOnDisk(key)) return nullptr;
  auto index = store_->Load(key);
  if (index.ok()) return *std::move(index);
  if (!absl::IsNotFound(index.status())) {
    warnings->push_back(absl::StrCat(
        root.uri(), ": its index is built anew: ", index.status().message()));
  }
  return nullptr;
}

void FolderCatalog::Save(const storage::Root& root, const FolderKey& key,
                         const FolderIndex& index,
                         std::vector<std::string>* warnings) const {
  if (!store_.has_value()) return;
  {
    base::MutexLock lock(&mutex_);
    while (busy_.count(key) != 0) busy_changed_.Wait(&mutex_);
    busy_.insert(key);
  }
  const absl::Status saved = store_->Save(key, index);
  {
    base::MutexLock lock(&mutex_);
    busy_.erase(key);
    busy_changed_.NotifyAll();
    if (saved.ok()) stale_.erase(key);
  }
  if (saved.ok()) return;
  warnings->push_back(absl::StrCat(
      root.uri(), ": its index is kept in memory only: ", saved.message()));
}

void FolderCatalog::MarkStale(const Version& version) {
  std::vector<FolderKey> keys;
  search_.ForEach([&](const FolderKey& key, const FolderIndex& index) {
    if (index.version() != version || index.stale()) return;
    index.MarkStale();
    keys.push_back(key);
  });
  if (!store_.has_value()) return;
  base::MutexLock lock(&mutex_);
  stale_.insert(keys.begin(), keys.end());
}

bool FolderCatalog::IsStaleOnDisk(const FolderKey& key) const {
  base::MutexLock lock(&mutex_);
  return stale_.count(key) != 0;
}

void FolderCatalog::RemoveStale() {
  std::set<FolderKey> keys;
  {
    base::MutexLock lock(&mutex_);
    keys = stale_;
  }
  for (const FolderKey& key : keys) {
    {
      base::MutexLock lock(&mutex_);
      // A new index may have replaced the file meanwhile, or be about to.
      if (stale_.count(key) == 0 || !busy_.insert(key).second) continue;
    }
    const absl::Status removed = store_->Remove(key);
    base::MutexLock lock(&mutex_);
    busy_.erase(key);
    busy_changed_.NotifyAll();
    // If the file cannot be removed, a read will find again that it is stale.
    if (!absl::IsUnavailable(removed)) stale_.erase(key);
  }
}

}  // namespace forebay::dataset::folder
