#ifndef FOREBAY_SERVER_DATASET_CATALOG_H_
#define FOREBAY_SERVER_DATASET_CATALOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/catalog_options.h"
#include "server/dataset/dataset.h"
#include "server/dataset/folder/folder_catalog.h"
#include "server/dataset/index_cache.h"
#include "server/dataset/manifest/manifest_catalog.h"
#include "server/dataset/npy/npy_catalog.h"
#include "server/dataset/npz/npz_catalog.h"
#include "server/dataset/opening.h"
#include "server/dataset/records/record_catalog.h"
#include "server/dataset/shards/shard_catalog.h"
#include "server/dataset/tokens/token_catalog.h"
#include "server/dataset/zip/zip_catalog.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::proto {
class DatasetSpec;
}  // namespace forebay::proto

namespace forebay::dataset {

// Opens datasets of files and objects for all jobs of the host. The catalog
// turns each proto::DatasetSpec into a request to the catalog of its format,
// which finds or builds the index.
//
// Thread-safe. Owns nothing that it hands out, and datasets may outlive it.
// Open may block for minutes, while the format's catalog scans a large tree.
// Open returns soon after `opening.stop` is requested, unless other openings
// wait for the same index. MarkStale does not block; FreeIdle blocks for the
// disk. Errors are those that each method lists.
class Catalog {
 public:
  explicit Catalog(CatalogOptions options);

  // Returns the directory in which indexes are saved. If it is empty, indexes
  // are in memory only.
  const std::string& index_directory() const {
    return options_.index_directory;
  }

  // Opens the dataset below `root`. `source` reads the files; if a job pays,
  // `source` is `opening.reads`. If `spec` is a manifest without a name, its
  // rows are those of `table`, a CSV text. Adds a sentence to `warnings` for
  // each failure that did no harm, such as that the index could not be saved.
  // If this opening is stopped, its scan goes on for other openings that wait
  // for it. Errors name the path. INVALID_ARGUMENT: the format is unknown, or
  // the fields are unusable. CANCELLED: the opening was stopped. Others: those
  // of the lister and of the format (folder/folder_scan.h,
  // shards/shard_catalog.h, manifest/manifest_catalog.h, npy/npy_catalog.h,
  // npz/npz_catalog.h, records/record_catalog.h, tokens/token_catalog.h,
  // zip/zip_catalog.h).
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening = {},
      std::optional<std::string_view> table = std::nullopt);

  // Returns the present version of `name`, an object or a regular file below
  // `root`. Blocks for the disk or the network, but not for long once `stop` is
  // requested. Errors name the object. INVALID_ARGUMENT: the file is not
  // regular, or there is no lister to ask for the object's version. Others:
  // those of LocalRoot::Stat and of the lister.
  absl::StatusOr<storage::ObjectVersion> FindVersion(
      const storage::Root& root, const std::string& name,
      const std::stop_token& stop) const;

  // Makes the next call of Open scan the files again. To be called when a read
  // has found a file whose version differs from that in `dataset`, or in a part
  // of `dataset`. Loaders that have the dataset open go on to use it.
  void MarkStale(const Dataset& dataset);

  // Frees large indexes that no loader has open and that were last opened over
  // kIdleNanos ago. Removes the files of indexes that were marked stale. To be
  // called periodically.
  void FreeIdle() {
    index_cache_.GiveUpIdle(kIdleNanos);
    folders_.RemoveStale();
  }

 private:
  // An idle index stays for ten minutes: most runs that failed are started
  // again within that time.
  static constexpr std::int64_t kIdleNanos = 600'000'000'000;

  // Lists the files or objects below `root` that match `patterns`, with their
  // versions. Counts the list in `memory`.
  absl::StatusOr<std::vector<storage::ListedObject>> ListFiles(
      const storage::Root& root, const std::vector<std::string>& patterns,
      base::WorkingMemory& memory, const std::stop_token& stop) const;
  // Each call below makes a request of one format from `spec`, and passes it to
  // that format's catalog. Errors are those of Open.
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenShards(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening);
  absl::StatusOr<std::shared_ptr<const Dataset>> OpenManifest(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening, std::optional<std::string_view> table);

  absl::StatusOr<std::shared_ptr<const Dataset>> OpenNpyFiles(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening);

  absl::StatusOr<std::shared_ptr<const Dataset>> OpenNpzFiles(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening);

  absl::StatusOr<std::shared_ptr<const Dataset>> OpenRecords(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening);

  absl::StatusOr<std::shared_ptr<const Dataset>> OpenTokens(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, const Opening& opening);

  absl::StatusOr<std::shared_ptr<const Dataset>> OpenZips(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening);

  // Lists the data files of the LMDB environments that match `patterns`.
  absl::StatusOr<std::vector<storage::ListedObject>> ListEnvironments(
      const storage::Root& root, const std::vector<std::string>& patterns,
      base::WorkingMemory& memory, const std::stop_token& stop) const;

  const CatalogOptions options_;
  IndexCache index_cache_;
  folder::FolderCatalog folders_;
  shards::ShardCatalog shards_;
  manifest::ManifestCatalog manifests_;
  npy::NpyCatalog npy_files_;
  npz::NpzCatalog npz_files_;
  records::RecordCatalog records_;
  tokens::TokenCatalog tokens_;
  zip::ZipCatalog zips_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_CATALOG_H_
