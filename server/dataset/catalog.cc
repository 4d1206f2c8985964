#include "server/dataset/catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/check.h"
#include "server/base/fd.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/image_folder.h"
#include "server/dataset/indexed_dataset.h"
#include "server/dataset/listed_folders.h"
#include "server/dataset/manifest/manifest_dataset.h"
#include "server/dataset/object_version_lookup.h"
#include "server/dataset/revalidation.h"
#include "server/dataset/shards/field_choice.h"
#include "server/dataset/shards/remote_shard_list.h"
#include "server/dataset/shards/shard_list.h"
#include "server/dataset/tree_scan.h"
#include "server/storage/local/file_stat.h"
#include "server/storage/local/local_root.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// Finding an index takes its entry's `busy` mark, not the mutex: loaders of
// other roots go on. Whoever waited for the mark takes over what was found
// meanwhile, if the directories still are as scanned. Who loses interest stops
// waiting; the search itself, on the thread of the one who began it, is stopped
// when the last has.

namespace forebay::dataset {
namespace {

// A request to a bucket takes as long as reading a megabyte does: small files
// are read with what is between their headers.
constexpr std::size_t kRemoteShardsAtOnce = 32;
constexpr shards::ReadSizes kRemoteReadSizes = {.min = 256 << 10,
                                                .max = 2 << 20};

// Never 0, which means that there are no links.
std::uint64_t LinkContext(const storage::local::LocalRoot& root,
                          const proto::DatasetSpec& spec) {
  std::string paths = root.uri();
  for (const std::string& path : spec.extra_root_paths()) {
    absl::StrAppend(&paths, std::string(1, '\0'), path);
  }
  return XXH3_64bits(paths.data(), paths.size()) | 1;
}

// Null: `root` is no folder of this host.
const storage::local::LocalRoot* AsFolder(const storage::Root& root) {
  return dynamic_cast<const storage::local::LocalRoot*>(&root);
}

absl::StatusOr<IndexKey> KeyOf(const storage::local::LocalRoot& root,
                               const proto::DatasetSpec& spec) {
  const auto fd = root.OpenDirectory("");
  if (!fd.ok()) return base::Annotate(fd.status(), root.uri());
  FOREBAY_ASSIGN_OR_RETURN(const DirectoryStamp stamp,
                           StampOf(fd->get(), root.uri()));
  return IndexKey{stamp.device, stamp.inode,
                  static_cast<std::uint32_t>(spec.format())};
}

// The regular file at `path`.
absl::StatusOr<storage::ObjectVersion> StatRegularFile(
    const storage::local::LocalRoot& root, const std::string& path) {
  FOREBAY_ASSIGN_OR_RETURN(const storage::local::FileStat stat,
                           root.Stat(path));
  if (stat.type != storage::local::FileType::kRegular) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a regular file"));
  }
  return stat.version();
}

}  // namespace

struct Catalog::Request {
  const storage::local::LocalRoot& root;
  IndexKey key;
  std::uint64_t link_context;
  std::stop_token search = {};

  // Whether links, if there are any, lead where they led in the scan.
  bool AgreesWith(const Index& index) const {
    return index.parts().link_context == 0 ||
           index.parts().link_context == link_context;
  }
};

struct Catalog::Found {
  std::shared_ptr<const Index> index;
  std::int64_t scanned_at_nanos = 0;
  bool scanned = false;
};

// A call of FindIndex: keeps its entry in place, and wishes for what is found
// until it is stopped. For who holds the mutex.
struct Catalog::Visit {
  Entry* entry = nullptr;
  bool wishes = true;
};

Catalog::Catalog(CatalogOptions options)
    : options_(std::move(options)),
      store_(options_.index_directory.empty()
                 ? std::nullopt
                 : std::make_optional<IndexStore>(options_.index_directory,
                                                  options_.budget)),
      listed_(options_.lister, store_.has_value() ? &*store_ : nullptr,
              options_.wall_clock, options_.recent_list_nanos, options_.budget),
      shards_(options_.index_directory, options_.budget),
      manifests_(options_.budget) {
  FOREBAY_CHECK(options_.scan_threads >= 1 && options_.wall_clock != nullptr &&
                options_.budget != nullptr);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::Open(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const std::stop_token& stop) {
  if (AsFolder(*root) == nullptr && options_.lister == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(root->uri(), ": is no folder"));
  }
  if (spec.format() == proto::DatasetSpec::WEBDATASET) {
    return OpenShards(std::move(root), spec, source, warnings, stop);
  }
  if (spec.format() == proto::DatasetSpec::MANIFEST) {
    return OpenManifest(std::move(root), spec, source, warnings, stop);
  }
  return OpenFolder(std::move(root), spec, warnings, stop);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenFolder(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    std::vector<std::string>* warnings, const std::stop_token& stop) {
  if (spec.format() != proto::DatasetSpec::IMAGE_FOLDER) {
    return absl::InvalidArgumentError(
        absl::StrCat(root->uri(), ": dataset format ",
                     static_cast<int>(spec.format()), " is not known"));
  }
  std::shared_ptr<const Index> index;
  if (const auto* const folder = AsFolder(*root)) {
    FOREBAY_ASSIGN_OR_RETURN(const IndexKey key, KeyOf(*folder, spec));
    FOREBAY_ASSIGN_OR_RETURN(
        index,
        FindIndex({*folder, key, LinkContext(*folder, spec)}, stop, warnings));
  } else {
    FOREBAY_ASSIGN_OR_RETURN(index, listed_.Open(*root, warnings, stop));
  }
  return std::make_shared<const IndexedDataset>(std::move(index),
                                                std::move(root));
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenShards(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const std::stop_token& stop) {
  if (spec.shards().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(root->uri(), ": no shards were named"));
  }
  auto fields =
      shards::FieldChoice::Create({spec.fields().begin(), spec.fields().end()});
  if (!fields.ok()) return base::Annotate(fields.status(), root->uri());
  std::vector<std::string> patterns(spec.shards().begin(), spec.shards().end());
  shards::ShardRequest request{
      .root = root,
      .name = absl::StrJoin(patterns, std::string(1, '\0')),
      .fields = *std::move(fields),
      .list =
          [&](base::WorkingMemory& memory, const std::stop_token& search) {
            const auto* const folder = AsFolder(*root);
            return folder != nullptr
                       ? shards::ListShards(*folder, patterns, memory, search)
                       : shards::ListRemoteShards(*options_.lister, *root,
                                                  patterns, memory, search);
          },
      .source = &source};
  if (AsFolder(*root) == nullptr) {
    request.shards_at_once = kRemoteShardsAtOnce;
    request.read_sizes = kRemoteReadSizes;
  }
  return shards_.Open(request, warnings, stop);
}

absl::StatusOr<std::shared_ptr<const Dataset>> Catalog::OpenManifest(
    std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
    storage::ByteSource& source, std::vector<std::string>* warnings,
    const std::stop_token& stop) {
  ObjectVersionLookup objects(options_.lister, root, options_.budget, stop);
  const auto stat = [&](const std::string& path) {
    const auto* const folder = AsFolder(*root);
    return folder != nullptr ? StatRegularFile(*folder, path)
                             : objects.Find(path);
  };
  manifest::FindRoot find_root;
  std::uint64_t max_stats = 0;  // in a bucket each is a request
  if (const auto* const folder = AsFolder(*root)) {
    max_stats = RevalidationLimits().Of(*folder);
    find_root = [folder](const std::string& path) {
      return folder->NameIn(path);
    };
  }
  const manifest::ManifestRequest request{
      .root = root,
      .path = spec.manifest(),
      .fields = {{spec.fields().begin(), spec.fields().end()},
                 {spec.columns().begin(), spec.columns().end()}},
      .absolute_root = root->uri(),
      .find_root = std::move(find_root),
      .stat = stat,
      .threads = options_.scan_threads,
      .max_stats = max_stats,
      .source = &source};
  return manifests_.Open(request, warnings, stop);
}

absl::StatusOr<std::shared_ptr<const Index>> Catalog::FindIndex(
    Request request, const std::stop_token& stop,
    std::vector<std::string>* warnings) {
  Visit visit;
  {
    base::MutexLock lock(&mutex_);
    ForgetUnusedLocked();
    visit.entry = &entries_[request.key];
    ++visit.entry->visitors;
    ++visit.entry->wishes;
  }
  absl::StatusOr<std::shared_ptr<const Index>> found;
  {
    const std::stop_callback on_stop(stop, [this, &visit] {
      base::MutexLock lock(&mutex_);
      visit.wishes = false;
      if (--visit.entry->wishes == 0) visit.entry->search.request_stop();
      changed_.NotifyAll();
    });
    found = FindIndexFor(visit, std::move(request), warnings);
  }
  base::MutexLock lock(&mutex_);
  --visit.entry->visitors;
  if (visit.wishes) --visit.entry->wishes;
  return found;
}

absl::StatusOr<std::shared_ptr<const Index>> Catalog::FindIndexFor(
    const Visit& visit, Request request, std::vector<std::string>* warnings) {
  Entry before;
  bool waited = false;
  {
    base::MutexLock lock(&mutex_);
    Entry& entry = *visit.entry;
    while (entry.busy && visit.wishes) {
      waited = true;
      changed_.Wait(&mutex_);
    }
    if (!visit.wishes) {
      return absl::CancelledError(
          absl::StrCat(request.root.uri(), ": was not looked into"));
    }
    entry.busy = true;
    entry.search = std::stop_source();
    request.search = entry.search.get_token();
    before = entry;
  }
  const std::shared_ptr<const Index> current = before.index.lock();
  const bool reusable =
      current != nullptr && !before.stale && request.AgreesWith(*current) &&
      (waited || current->IsSettled(before.scanned_at_nanos)) &&
      IsUnchanged(request.root, *current, request.search, warnings);
  if (before.stale) {
    warnings->push_back(absl::StrCat(
        request.root.uri(),
        ": a file was changed in its place: the index is built anew"));
  }
  absl::StatusOr<Found> found =
      reusable
          ? Found{current, before.scanned_at_nanos}
          : LoadOrScan(request, !before.stale && current == nullptr, warnings);
  // One copy in memory where nothing has changed.
  if (found.ok() && current != nullptr && found->index->IsSameAs(*current)) {
    found->index = current;
  }
  base::MutexLock lock(&mutex_);
  Entry& entry = *visit.entry;
  entry.busy = false;
  changed_.NotifyAll();
  FOREBAY_RETURN_IF_ERROR(found.status());
  entry.index = found->index;
  entry.scanned_at_nanos = found->scanned_at_nanos;
  if (found->scanned) entry.stale = false;
  return found->index;
}

absl::StatusOr<Catalog::Found> Catalog::LoadOrScan(
    const Request& request, bool load,
    std::vector<std::string>* warnings) const {
  if (load && store_.has_value()) {
    std::shared_ptr<const Index> index = Load(request, warnings);
    if (index != nullptr) return Found{index, index->parts().scanned_at_nanos};
  }
  ScanOptions scan;
  scan.threads = options_.scan_threads;
  scan.now_nanos = options_.wall_clock();
  scan.link_context = request.link_context;
  scan.stop = request.search;
  scan.budget = options_.budget;
  FOREBAY_ASSIGN_OR_RETURN(std::shared_ptr<const Index> index,
                           ScanImageFolder(request.root, scan));
  const Found found = {std::move(index), scan.now_nanos, true};
  Keep(request, found, warnings);
  return found;
}

// Null if there is none that can still be used.
std::shared_ptr<const Index> Catalog::Load(
    const Request& request, std::vector<std::string>* warnings) const {
  auto index = store_->Load(request.key);
  if (!index.ok()) {
    if (!absl::IsNotFound(index.status())) {
      warnings->push_back(absl::StrCat(
          request.root.uri(),
          ": its index is built anew: ", index.status().message()));
    }
    return nullptr;
  }
  const bool usable =
      request.AgreesWith(**index) &&
      (*index)->IsSettled((*index)->parts().scanned_at_nanos) &&
      IsUnchanged(request.root, **index, request.search, warnings);
  return usable ? *std::move(index) : nullptr;
}

// An index that is not settled would have to be rebuilt anyway.
void Catalog::Keep(const Request& request, const Found& found,
                   std::vector<std::string>* warnings) const {
  if (!store_.has_value() || !found.index->IsSettled(found.scanned_at_nanos)) {
    return;
  }
  const absl::Status status = store_->Save(request.key, *found.index);
  if (!status.ok()) {
    warnings->push_back(
        absl::StrCat(request.root.uri(),
                     ": its index is kept in memory only: ", status.message()));
  }
}

void Catalog::MarkStale(const Dataset& dataset) {
  for (const Dataset* const source : dataset.sources())
    MarkSourceStale(*source);
}

void Catalog::MarkSourceStale(const Dataset& dataset) {
  if (const auto* const listed =
          dynamic_cast<const manifest::ManifestDataset*>(&dataset)) {
    listed->MarkStale();
    return;
  }
  listed_.MarkStale(dataset.version());
  std::vector<IndexKey> keys;
  {
    base::MutexLock lock(&mutex_);
    for (auto& [key, entry] : entries_) {
      const std::shared_ptr<const Index> index = entry.index.lock();
      if (index == nullptr || index->version() != dataset.version() ||
          entry.stale) {
        continue;
      }
      entry.stale = true;
      keys.push_back(key);
    }
  }
  if (!store_.has_value()) return;
  for (const IndexKey& key : keys) {
    // If it stays, a read will find it wrong again.
    store_->Remove(key).IgnoreError();
  }
}

void Catalog::ForgetUnusedLocked() {
  std::erase_if(entries_, [](const auto& item) {
    const Entry& entry = item.second;
    return entry.visitors == 0 && entry.index.expired();
  });
}

}  // namespace forebay::dataset
