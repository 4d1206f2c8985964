#ifndef FOREBAY_SERVER_JOB_LOADER_OPENER_H_
#define FOREBAY_SERVER_JOB_LOADER_OPENER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/mutex.h"
#include "server/dataset/catalog.h"
#include "server/dataset/composed/composer.h"
#include "server/dataset/composed/dataset_inputs.h"
#include "server/dataset/opening.h"
#include "server/device/device_directory.h"
#include "server/fetch/object_reader.h"
#include "server/fetch/sample_reader.h"
#include "server/job/coordinator_directory.h"
#include "server/job/job.h"
#include "server/job/loader.h"
#include "server/job/stream_directory.h"
#include "server/length_scan/length_scan_catalog.h"
#include "server/stream/stream_spec.h"

namespace forebay::job {

// Opens loaders, and readers of single samples, for jobs. Passes each part of a
// spec to the room that checks that part. Loaders that may share a stream
// become members of the same stream.
//
// Thread-safe. The registry owns it. The catalog, all of `deps` and the devices
// outlive the opener, and the loaders and readers that it opens. The caller
// owns these loaders and readers. Both Open methods block while the dataset is
// scanned. OpenLoader also blocks while lengths are measured. Both return soon
// after `stop` is requested.
//
// INVALID_ARGUMENT: a part of the spec is wrong; the message names the part.
// RESOURCE_EXHAUSTED: the budget has no room; the message says for what.
// CANCELLED: `stop` was requested. Other errors are those of `dataset`.
class LoaderOpener {
 public:
  // Creates an opener. `devices` is null if no GPU is served.
  LoaderOpener(dataset::Catalog* catalog, stream::StreamDeps deps,
               device::DeviceDirectory* devices = nullptr)
      : deps_(std::move(deps)),
        devices_(devices),
        catalog_(catalog),
        datasets_(catalog, deps_.budget),
        length_scans_(catalog->index_directory(),
                      {.source = deps_.source,
                       .executor = deps_.executor,
                       .budget = deps_.budget,
                       .on_changed = deps_.on_changed}) {}

  // Opens a loader and adds it to `job`.
  absl::StatusOr<std::shared_ptr<Loader>> OpenLoader(
      Job& job, proto::LoaderSpec spec,
      const dataset::composed::DatasetInputs& inputs,
      const std::stop_token& stop);

  // Opens a reader, whose work is charged to `job`. If `decode`, the reader
  // decodes images, and applies the ops of the spec's pipeline if there are
  // any. Sets `warnings` to the harmless faults of the dataset, a sentence
  // each.
  absl::StatusOr<std::unique_ptr<fetch::SampleReader>> OpenReader(
      const Job& job, const proto::LoaderSpec& spec,
      const dataset::composed::DatasetInputs& inputs, bool decode,
      std::vector<std::string>* warnings, const std::stop_token& stop);

  // Returns a new reader of files and objects, whose work is charged to `job`.
  // Does not block.
  std::unique_ptr<fetch::ObjectReader> MakeObjectReader(const Job& job) const;

  // Returns the latest harmless faults of datasets, a sentence each, for
  // `forebayctl doctor`.
  std::vector<std::string> Warnings() const;

 private:
  // Opens a dataset. Its warnings go to Warnings(), and to `warnings` unless
  // that is null.
  absl::StatusOr<std::shared_ptr<const dataset::Dataset>> OpenDataset(
      const dataset::composed::DatasetInputs& inputs,
      const proto::DatasetSpec& spec, std::vector<std::string>* warnings,
      const dataset::Opening& opening);
  // Logs the warnings, and stores them for Warnings().
  void Warn(std::vector<std::string> warnings);
  // Returns the warnings of a dataset. `warnings` are the warnings of this
  // opening. If `warnings` is empty, returns the stored warnings, because no
  // faults are found when an existing index is opened again.
  std::vector<std::string> WarningsOf(const dataset::Version& version,
                                      std::vector<std::string> warnings);
  // Returns the sizes of a field's values in all samples, measured now or
  // before.
  absl::StatusOr<std::shared_ptr<const length_scan::ValueSizes>> MeasureSamples(
      const length_scan::Subject& subject, const std::stop_token& stop);
  // Makes the stream's loader a member of the coordinated order that it shares
  // with others. RESOURCE_EXHAUSTED: the budget has no room for the member.
  absl::Status JoinOrder(std::uint32_t uid, stream::StreamSpec* stream_spec);
  // Returns the stream that the loader may join, or a new one if there is none.
  absl::StatusOr<std::shared_ptr<stream::Stream>> StreamFor(
      std::uint32_t uid, const proto::LoaderSpec& spec,
      stream::StreamSpec stream_spec);

  const stream::StreamDeps deps_;
  device::DeviceDirectory* const devices_;
  const dataset::Catalog* const catalog_;
  dataset::composed::Composer datasets_;
  length_scan::LengthScanCatalog length_scans_;
  CoordinatorDirectory coordinators_;
  StreamDirectory streams_;

  mutable base::Mutex mutex_;
  std::deque<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
  // The warnings of one dataset. `of_datasets_` stores the warnings of the
  // datasets that gave warnings last, because no faults are found when an
  // existing index is opened again.
  struct OfDataset {
    dataset::Version version;
    std::vector<std::string> warnings;
  };
  std::deque<OfDataset> of_datasets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_LOADER_OPENER_H_
