#ifndef FOREBAY_SERVER_DATASET_FOLDER_FOLDER_CATALOG_H_
#define FOREBAY_SERVER_DATASET_FOLDER_FOLDER_CATALOG_H_

#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/mutex.h"
#include "server/dataset/catalog_options.h"
#include "server/dataset/dataset.h"
#include "server/dataset/folder/folder_index.h"
#include "server/dataset/folder/folder_index_store.h"
#include "server/dataset/folder/folder_scan.h"
#include "server/dataset/index_cache.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/local_root.h"

namespace forebay::proto {
class DatasetSpec;
}  // namespace forebay::proto

namespace forebay::dataset::folder {

// Opens datasets of folders, on this host's file systems and in buckets.
// Samples are images in class folders, .npy files or audio files. Loaders of
// the same root share its index in memory. A later loader finds the index on
// disk.
//
// The index of a local folder is used again only if no directory has changed,
// and the checked files have the sizes and times of the index (revalidation.h).
// Only a new list tells whether a bucket has changed. A bucket's index is used
// again while its list is recent. If the bucket cannot be listed, its index is
// used at any age: reads refuse objects of other versions.
//
// Thread-safe. Owns nothing that it hands out, and datasets may outlive it.
// Open blocks for the disk or the network, and for another Open of the same
// root. It returns soon after `stop` is requested, unless other openings wait
// for the same index. MarkStale does not block; RemoveStale blocks for the
// disk.
class FolderCatalog {
 public:
  // `index_cache` outlives the catalog. If `index_cache` is null, idle indexes
  // are not kept.
  explicit FolderCatalog(const CatalogOptions& options,
                         IndexCache* index_cache = nullptr)
      : options_(options),
        index_cache_(index_cache),
        store_(options.index_directory.empty()
                   ? std::nullopt
                   : std::make_optional<FolderIndexStore>(
                         options.index_directory, options.budget)) {}

  // Opens the dataset below `root`. A root that is not a local folder must have
  // an identity, and needs CatalogOptions::lister. Adds a sentence to
  // `warnings` for each failure that did no harm, such as that the index could
  // not be saved. CANCELLED: the opening was stopped. INVALID_ARGUMENT: the
  // spec has an unknown layout. Others: those of
  // ScanFolder and ListFolder.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      std::vector<std::string>* warnings, const std::stop_token& stop);

  // Makes the next call of Open scan or list the root again. To be called when
  // a read has found that a file differs from the index. `version` is the
  // version of that index.
  void MarkStale(const Version& version);
  // Removes the files of indexes that were marked stale. To be called
  // periodically.
  void RemoveStale();

 private:
  using IndexPtr = std::shared_ptr<const FolderIndex>;
  using Search = SingleFlight<FolderKey, FolderIndex>;

  // Finds the index of a folder of this host. The caller has set scan.kind,
  // scan.link_context and scan.stop.
  absl::StatusOr<IndexPtr> FindLocal(const storage::local::LocalRoot& root,
                                     const FolderKey& key, ScanOptions scan,
                                     Search::Start start,
                                     std::vector<std::string>* warnings) const;
  // Finds the index of a bucket. The caller has set scan.kind and scan.stop.
  absl::StatusOr<IndexPtr> FindRemote(const storage::Root& root,
                                      const FolderKey& key, ScanOptions scan,
                                      const Search::Start& start,
                                      std::vector<std::string>* warnings) const;
  // Loads the index from disk. Returns null if the disk has no index, or a
  // damaged or stale one.
  IndexPtr Load(const storage::Root& root, const FolderKey& key,
                std::vector<std::string>* warnings) const;
  // Saves the index, if there is an index directory. Adds a warning if that
  // fails.
  void Save(const storage::Root& root, const FolderKey& key,
            const FolderIndex& index, std::vector<std::string>* warnings) const;

  // Whether the index on disk was marked stale.
  bool IsStaleOnDisk(const FolderKey& key) const;

  const CatalogOptions options_;
  IndexCache* const index_cache_;
  const std::optional<FolderIndexStore> store_;
  Search search_;
  mutable base::Mutex mutex_;
  // The stale indexes whose files are not removed yet.
  mutable std::set<FolderKey> stale_ ABSL_GUARDED_BY(mutex_);
  // The indexes whose files are being saved or removed.
  mutable std::set<FolderKey> busy_ ABSL_GUARDED_BY(mutex_);
  mutable base::CondVar busy_changed_;
};

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_CATALOG_H_
