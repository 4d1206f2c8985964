#ifndef FOREBAY_SERVER_DATASET_CATALOG_H_
#define FOREBAY_SERVER_DATASET_CATALOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index.h"
#include "server/dataset/index_store.h"
#include "server/dataset/listed_folders.h"
#include "server/dataset/manifest/manifest_catalog.h"
#include "server/dataset/shards/shard_catalog.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/local_root.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

struct CatalogOptions {
  // Where indexes are kept; empty: in memory only.
  std::string index_directory;
  // Directories listed at once by one scan; at least 1.
  int scan_threads = 8;
  // Nanoseconds since the epoch.
  std::function<std::int64_t()> wall_clock;
  // Tells what lies below roots that are no folders; null: there are none.
  storage::ObjectLister* lister = nullptr;
  // The budget that counts datasets and the way to them; outlives both.
  base::MemoryBudget* budget = nullptr;
  // How long a list of such a root is used without another, in nanoseconds.
  std::int64_t recent_list_nanos = 60'000'000'000;
};

// All datasets of the host. Loaders of one dataset share its index in memory
// while any of them uses it; after that it is found on disk. An index is used
// again only if every directory, or shard, is still as it was scanned; one of
// class folders in a bucket as ListedFolders says.
//
// Thread-safe; owns nothing that it hands out, and need not outlive it. Open
// blocks for the disk, perhaps for minutes where a large tree is scanned, and
// for another Open of the same root, but not for long once its stop is
// requested; MarkStale blocks for the removal of one file.
class Catalog {
 public:
  explicit Catalog(CatalogOptions options);

  // The dataset beneath `root`, which `source` reads. What went wrong without
  // harm, such as an index that could not be kept on disk, is added to
  // `warnings`, a sentence each. Whoever asks may lose interest, by requesting
  // `stop`; a scan goes on as long as anybody wants its result.
  // INVALID_ARGUMENT: a format that is not known, or fields that are none;
  // CANCELLED: stopped; others: those of the format's scan (see image_folder.h,
  // shards/shard_catalog.h, manifest/manifest_catalog.h) and of the lister.
  // Errors name the path.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const std::stop_token& stop = {});

  // To be called when a file was not as the index says, or as that of one that
  // the dataset is made of: the next Open scans.
  // Those that have the dataset open keep it as it is.
  void MarkStale(const Dataset& dataset);

 private:
  struct Entry {
    std::weak_ptr<const Index> index;
    // When the last scan that found `index` began.
    std::int64_t scanned_at_nanos = 0;
    // Whether a read found the index wrong.
    bool stale = false;
    // Whether somebody looks for an index with the mutex released; the others
    // wait.
    bool busy = false;
    // Ends that search.
    std::stop_source search;
    // Those in FindIndex, and how many of them still want what is found.
    int visitors = 0;
    int wishes = 0;
  };
  struct Visit;
  struct Request;
  struct Found;

  absl::StatusOr<std::shared_ptr<const Dataset>> OpenFolder(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      std::vector<std::string>* warnings, const std::stop_token& stop);
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenShards(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const std::stop_token& stop);
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenManifest(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const std::stop_token& stop);
  absl::StatusOr<std::shared_ptr<const Index>> FindIndex(
      Request request, const std::stop_token& stop,
      std::vector<std::string>* warnings);
  absl::StatusOr<std::shared_ptr<const Index>> FindIndexFor(
      const Visit& visit, Request request, std::vector<std::string>* warnings);
  absl::StatusOr<Found> LoadOrScan(const Request& request, bool load,
                                   std::vector<std::string>* warnings) const;
  std::shared_ptr<const Index> Load(const Request& request,
                                    std::vector<std::string>* warnings) const;
  void Keep(const Request& request, const Found& found,
            std::vector<std::string>* warnings) const;
  void MarkSourceStale(const Dataset& dataset);
  void ForgetUnusedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CatalogOptions options_;
  const std::optional<IndexStore> store_;
  ListedFolders listed_;
  shards::ShardCatalog shards_;
  manifest::ManifestCatalog manifests_;

  base::Mutex mutex_;
  base::CondVar changed_;
  // Entries in use are not erased: their addresses stay.
  std::map<IndexKey, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_CATALOG_H_
