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
#include "server/stream/stream_spec.h"
#include "server/survey/survey_catalog.h"

namespace forebay::job {

// Opens loaders, and readers of single samples, for jobs. Gives each part of a
// spec to the room that checks it. Loaders that may share a stream join one.
//
// Thread-safe. The catalog, all of `deps` and the devices outlive it and what
// it opens; loaders and readers belong to the caller. Both Open methods block
// while the dataset is scanned, and OpenLoader while lengths are measured, but
// not for long once `stop` is requested.
// Errors: INVALID_ARGUMENT names the part of the spec that is wrong;
// RESOURCE_EXHAUSTED says what has no memory; CANCELLED: stopped; else the
// dataset room's.
class LoaderOpener {
 public:
  // `devices`: null if no GPU is served.
  LoaderOpener(dataset::Catalog* catalog, stream::StreamDeps deps,
               device::DeviceDirectory* devices = nullptr)
      : deps_(std::move(deps)),
        devices_(devices),
        catalog_(catalog),
        datasets_(catalog, deps_.budget),
        surveys_(catalog->index_directory(), {.source = deps_.source,
                                              .executor = deps_.executor,
                                              .budget = deps_.budget,
                                              .on_changed = deps_.on_changed}) {
  }

  // Opens a loader and adds it to `job`. An error adds none.
  absl::StatusOr<std::shared_ptr<Loader>> OpenLoader(
      Job& job, proto::LoaderSpec spec,
      const dataset::composed::DatasetInputs& inputs,
      const std::stop_token& stop);

  // Opens a reader, whose work is charged to `job`. `decode`: images come as
  // pixels, by the spec's pipeline, or whole if that has no ops. Sets
  // `warnings` to the harmless faults of its dataset, a sentence each.
  absl::StatusOr<std::unique_ptr<fetch::SampleReader>> OpenReader(
      const Job& job, const proto::LoaderSpec& spec,
      const dataset::composed::DatasetInputs& inputs, bool decode,
      std::vector<std::string>* warnings, const std::stop_token& stop);

  // Makes a reader of files and objects, whose work is charged to `job`. Does
  // not block.
  std::unique_ptr<fetch::ObjectReader> MakeObjectReader(const Job& job) const;

  // The latest harmless faults of datasets, a sentence each, for `forebayctl
  // doctor`.
  std::vector<std::string> Warnings() const;

 private:
  // `warnings`: null if they are only to be kept for Warnings().
  absl::StatusOr<std::shared_ptr<const dataset::Dataset>> OpenDataset(
      const dataset::composed::DatasetInputs& inputs,
      const proto::DatasetSpec& spec, std::vector<std::string>* warnings,
      const dataset::Opening& opening);
  // Logs the warnings, and keeps them for Warnings().
  void Warn(std::vector<std::string> found);
  // Returns the warnings of a dataset, of which opening it has found some.
  // Keeps those, and looks up what is kept if there are none.
  std::vector<std::string> WarningsOf(const dataset::Version& version,
                                      std::vector<std::string> found);
  // Measures that field of all samples, or looks up what was measured.
  absl::StatusOr<std::shared_ptr<const survey::ValueSizes>> MeasureSamples(
      const survey::Subject& subject, const std::stop_token& stop);
  // Makes the loader that the stream is for a member of the coordinated order
  // of its kind. RESOURCE_EXHAUSTED: no memory for it.
  absl::Status JoinOrder(std::uint32_t uid, stream::StreamSpec* stream_spec);
  // Returns the stream that the loader may join or, if there is none, its own.
  absl::StatusOr<std::shared_ptr<stream::Stream>> StreamFor(
      std::uint32_t uid, const proto::LoaderSpec& spec,
      stream::StreamSpec stream_spec);

  const stream::StreamDeps deps_;
  device::DeviceDirectory* const devices_;
  const dataset::Catalog* const catalog_;
  dataset::composed::Composer datasets_;
  survey::SurveyCatalog surveys_;
  CoordinatorDirectory coordinators_;
  StreamDirectory streams_;

  mutable base::Mutex mutex_;
  std::deque<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
  // Those of the datasets that had some last: an index that is kept repeats
  // none.
  struct OfDataset {
    dataset::Version version;
    std::vector<std::string> warnings;
  };
  std::deque<OfDataset> of_datasets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_LOADER_OPENER_H_
