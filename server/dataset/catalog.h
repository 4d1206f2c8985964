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
#include "server/dataset/kept_indexes.h"
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

// All datasets of the host that lie below a root. Makes of each spec a request
// to the catalog of its format.
//
// Thread-safe; owns nothing that it hands out, and need not outlive it. Open
// blocks as the format's catalog does, perhaps for minutes while it scans a
// large tree, but returns soon after its stop is requested unless others wait
// for the same. MarkStale does not block, FreeIdle for the disk.
class Catalog {
 public:
  explicit Catalog(CatalogOptions options);

  // Where indexes are saved; empty: they are in memory only.
  const std::string& index_directory() const {
    return options_.index_directory;
  }

  // The dataset below `root`, which `source` reads. Of a manifest without a
  // name, the rows are those of `table`, which is CSV. Adds to `warnings`, a
  // sentence each, what failed without harm, such as saving the index. An
  // opening that is stopped leaves a scan to the others that wait for it.
  // `source` is that of the opening, if a job pays. Errors name the path:
  // INVALID_ARGUMENT: an unknown format, or fields that are none; CANCELLED:
  // stopped; others: those of the lister and of the format
  // (folder/folder_scan.h, shards/shard_catalog.h,
  // manifest/manifest_catalog.h, npy/npy_catalog.h, npz/npz_catalog.h,
  // records/record_catalog.h, tokens/token_catalog.h, zip/zip_catalog.h).
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      std::shared_ptr<const storage::Root> root, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening = {},
      std::optional<std::string_view> table = std::nullopt);

  // The present version of the object, or regular file, `name` below `root`.
  // Blocks for the disk or the network, but not for long once `stop` is
  // requested. Errors name the object: INVALID_ARGUMENT: it is no regular file,
  // or the root's objects are none that can be asked for; others: those of
  // LocalRoot::Stat and of the lister.
  absl::StatusOr<storage::ObjectVersion> FindVersion(
      const storage::Root& root, const std::string& name,
      const std::stop_token& stop) const;

  // To be called when a file was not as the dataset, or one that it is made of,
  // says: the next Open scans. Those that have the dataset open keep it as it
  // is.
  void MarkStale(const Dataset& dataset);

  // Frees large indexes that were last opened long ago and are not open any
  // more, and removes the files of those that were marked. Call it now and
  // then.
  void FreeIdle() {
    kept_.GiveUpIdle(kIdleNanos);
    folders_.RemoveStale();
  }

 private:
  // Ten minutes: a run that failed is started again by then.
  static constexpr std::int64_t kIdleNanos = 600'000'000'000;

  absl::StatusOr<std::vector<storage::ListedObject>> ListFiles(
      const storage::Root& root, const std::vector<std::string>& patterns,
      base::WorkingMemory& memory, const std::stop_token& stop) const;
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

  absl::StatusOr<std::vector<storage::ListedObject>> ListEnvironments(
      const storage::Root& root, const std::vector<std::string>& patterns,
      base::WorkingMemory& memory, const std::stop_token& stop) const;

  const CatalogOptions options_;
  KeptIndexes kept_;
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
