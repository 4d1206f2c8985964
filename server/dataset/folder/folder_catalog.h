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
#include "server/dataset/kept_indexes.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/local_root.h"

namespace forebay::proto {
class DatasetSpec;
}  // namespace forebay::proto

namespace forebay::dataset::folder {

// All open datasets of class folders of images, and of folders of .npy files
// and of audio files, on this host's file systems and in buckets. Loaders of
// one root share its index in memory, and later find it on disk.
//
// A local index is used again only if every directory is as it was scanned, and
// the files that are checked have their sizes and times (revalidation.h).
// Nothing but a new list tells whether a bucket's index still holds. That index
// is used again while its list is recent. It is used later, too, if no list can
// be had: reads refuse an object of another version.
//
// Thread-safe; owns nothing that it hands out, and need not outlive it. Open
// blocks for the disk or the network, and for another Open of the same root,
// but returns soon after its stop is requested unless others wait for the same.
// MarkStale does not block, RemoveStale for the disk.
class FolderCatalog {
 public:
  // `kept`, unless it is null, outlives the catalog.
  explicit FolderCatalog(const CatalogOptions& options,
                         KeptIndexes* kept = nullptr)
      : options_(options),
        kept_(kept),
        store_(options.index_directory.empty()
                   ? std::nullopt
                   : std::make_optional<FolderIndexStore>(
                         options.index_directory, options.budget)) {}

  // A root that is no local folder must have an identity, and the catalog a
  // lister. Adds to `warnings`, a sentence each, what failed without harm, such
  // as saving the index. Errors: those of ScanFolder and ListFolder; CANCELLED:
  // stopped; INVALID_ARGUMENT: the spec has other fields.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      std::vector<std::string>* warnings, const std::stop_token& stop);

  // To be called when a file was not as an index of this version says: the next
  // Open scans or lists anew.
  void MarkStale(const Version& version);
  // Removes the files of indexes that were marked. Call it now and then.
  void RemoveStale();

 private:
  using IndexPtr = std::shared_ptr<const FolderIndex>;
  using Search = SingleFlight<FolderKey, FolderIndex>;

  // The scan's kind, link context and stop are given.
  absl::StatusOr<IndexPtr> FindLocal(const storage::local::LocalRoot& root,
                                     const FolderKey& key, ScanOptions scan,
                                     Search::Known known,
                                     std::vector<std::string>* warnings) const;
  absl::StatusOr<IndexPtr> FindRemote(const storage::Root& root,
                                      const FolderKey& key, ScanOptions scan,
                                      const Search::Known& known,
                                      std::vector<std::string>* warnings) const;
  IndexPtr Load(const storage::Root& root, const FolderKey& key,
                std::vector<std::string>* warnings) const;
  void Save(const storage::Root& root, const FolderKey& key,
            const FolderIndex& index, std::vector<std::string>* warnings) const;

  // Whether the index on disk is one that was marked.
  bool IsStaleOnDisk(const FolderKey& key) const;

  const CatalogOptions options_;
  KeptIndexes* const kept_;
  const std::optional<FolderIndexStore> store_;
  Search search_;
  mutable base::Mutex mutex_;
  // The indexes whose files are yet to be removed.
  mutable std::set<FolderKey> stale_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::dataset::folder

#endif  // FOREBAY_SERVER_DATASET_FOLDER_FOLDER_CATALOG_H_
