#include "server/job/loader_opener.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/job/length_planner.h"
#include "server/job/placement.h"
#include "server/job/spec.h"
#include "server/pipeline/op_traits.h"
#include "server/pipeline/pipeline.h"
#include "server/sample/sample_identity.h"
#include "server/sampler/sampler.h"
#include "server/storage/byte_source.h"
#include "server/storage/paid_source.h"
#include "server/storage/read_now.h"
#include "server/stream/field_type.h"
#include "spdlog/spdlog.h"

namespace forebay::job {
namespace {

// How a loader is opened. Checks that take no time come first. Then the dataset
// is opened, and may be scanned. Its fields' types are found, which may take a
// read of the first sample. PlanLengths fits order, batches and room to the
// lengths of samples, which may have to be measured. Only then is the stream
// looked up by its key, or created. Loaders with equal specs thus do the same
// work up to that point. They share the index and the measured lengths through
// the catalogs. The loader joins the stream, and is added to its job last: an
// error leaves no trace.

// The most warnings in `warnings_`, the most datasets in `of_datasets_`, and
// the most warnings of each of these datasets.
constexpr std::size_t kMaxWarnings = 16;

using PipelinePtr = std::shared_ptr<const pipeline::Pipeline>;

stream::BatchOptions BatchOptionsOf(const proto::BatchSpec& spec) {
  return {.size = spec.batch_size(),
          .drop_last = spec.drop_last(),
          .substitute = spec.on_error() == proto::BatchSpec::SUBSTITUTE};
}

// Checks that the dataset has the fields to which the pipeline's ops apply.
absl::Status CheckFields(const dataset::Dataset& dataset,
                         const proto::PipelineSpec& spec) {
  const absl::Status named = stream::CheckPipelines(dataset, spec.fields());
  if (!named.ok()) return base::Annotate(named, dataset.uri());
  if (spec.ops().empty() || stream::HasField(dataset, proto::FieldKind::kImage))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      dataset.uri(), ": there is a transform, but no field that is an image"));
}

// Returns how many samples have 4 MiB together, on average. A block of that
// many samples is long enough to be read efficiently, and small compared with
// page caches. The mean is taken over at most some 1000 samples.
std::uint64_t BlockSamples(const dataset::Dataset& dataset) {
  constexpr std::uint64_t kBlockBytes = std::uint64_t{4} << 20;
  constexpr std::uint64_t kProbes = 1000;
  const std::uint64_t step =
      std::max<std::uint64_t>(dataset.size() / kProbes, 1);
  std::uint64_t bytes = 1;
  std::uint64_t probes = 1;
  for (; probes <= kProbes && (probes - 1) * step < dataset.size(); ++probes) {
    bytes += dataset.At((probes - 1) * step).length;
  }
  return std::max<std::uint64_t>(kBlockBytes / (bytes / probes + 1), 1);
}

// Returns the pipelines of the dataset's images, by field: the field's own if
// the spec has one, otherwise `all`.
absl::StatusOr<stream::ImagePipelines> ImagesOf(
    const dataset::Dataset& dataset, const proto::PipelineSpec& spec,
    pipeline::Part part, const absl::StatusOr<PipelinePtr>& all) {
  FOREBAY_RETURN_IF_ERROR(CheckFields(dataset, spec));
  stream::ImagePipelines images;
  int count = 0;
  bool has_code = false;
  for (const dataset::Field& field : dataset.fields()) {
    images.emplace_back();
    if (field.kind != proto::FieldKind::kImage) continue;
    const auto* const own = stream::PipelineOf(spec.fields(), field.name);
    if (own == nullptr) {
      FOREBAY_ASSIGN_OR_RETURN(images.back(), all);
    } else {
      proto::PipelineSpec ops;
      *ops.mutable_ops() = own->ops();
      auto made = pipeline::Pipeline::Create(ops, part);
      if (!made.ok()) return base::Annotate(made.status(), field.name);
      images.back() = *std::move(made);
    }
    ++count;
    has_code |= images.back()->user_code() != nullptr;
  }
  if (count < 2 || (!has_code && part == pipeline::Part::kWhole)) return images;
  return absl::UnimplementedError(absl::StrCat(
      dataset.uri(), ": has ", count,
      " images in a sample, which go neither "
      "with Python code between their transforms nor with a part of these on a "
      "GPU"));
}

// Returns the types of the dataset's fields, judged by sample `id`. Reads the
// sample, and blocks for it, only if an array's type can be learnt from nothing
// but the sample's bytes.
absl::StatusOr<std::vector<stream::FieldType>> TypesBySample(
    const dataset::Dataset& dataset, std::uint64_t id,
    const stream::ImagePipelines& images,
    const stream::FieldPipelines& pipelines, const stream::StreamDeps& deps,
    const dataset::Opening& opening) {
  base::WorkingMemory memory(deps.budget, "decompressing the first sample");
  dataset::ValueBuffers decompressed;
  base::Bytes first;
  if (stream::NeedsFirstSample(dataset)) {
    storage::ReadRequest request =
        sample::SampleIdentity(&dataset).RequestFor(id);
    // The request names no sample. No loader of the dataset is registered yet.
    // The cache would therefore evict a named sample, as one that nobody wants.
    request.sample = {};
    FOREBAY_ASSIGN_OR_RETURN(
        storage::ReadResult read,
        storage::ReadNow(*opening.reads, std::move(request), opening.stop));
    first = std::move(read.bytes);
  }
  return stream::TypesOf(
      dataset, images, pipelines, {id, first.span()},
      [&](std::uint64_t bytes) -> absl::StatusOr<absl::Span<std::uint8_t>> {
        FOREBAY_RETURN_IF_ERROR(memory.Grow(bytes));
        return decompressed.Add(bytes);
      });
}

// Returns the types judged by the first sample that is not damaged. Tries at
// most kMostTried samples.
absl::StatusOr<std::vector<stream::FieldType>> TypesOf(
    const dataset::Dataset& dataset, const stream::ImagePipelines& images,
    const stream::FieldPipelines& pipelines, const stream::StreamDeps& deps,
    const dataset::Opening& opening) {
  constexpr std::uint64_t kMostTried = 16;
  absl::Status damaged;  // of the first sample tried
  for (std::uint64_t id = 0; id < kMostTried; ++id) {
    if (id > 0 && id >= dataset.size()) break;
    auto types = TypesBySample(dataset, id, images, pipelines, deps, opening);
    if (types.ok() || !absl::IsDataLoss(types.status())) return types;
    damaged.Update(types.status());
  }
  return damaged;
}

// Refuses a loader on a GPU if no field of its dataset has numbers, because all
// other values stay in the host's memory.
absl::Status CheckForDevice(const dataset::Dataset& dataset,
                            const std::vector<stream::FieldType>& fields) {
  const auto has_numbers = [](const stream::FieldType& type) {
    return type.PlaceFor(proto::Place::kDevice) == proto::Place::kDevice &&
           type.value.bytes > 0;
  };
  if (std::any_of(fields.begin(), fields.end(), has_numbers))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      dataset.uri(), ": has no numbers, which alone lie on a GPU"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Loader>> LoaderOpener::OpenLoader(
    Job& job, proto::LoaderSpec spec,
    const dataset::composed::DatasetInputs& inputs,
    const std::stop_token& stop) {
  FOREBAY_RETURN_IF_ERROR(CheckLoader(spec));
  // Checks that take no time come before the scan of the dataset, which may
  // take minutes.
  FOREBAY_ASSIGN_OR_RETURN(Placement placement, PlaceFor(spec, devices_, stop));
  if (placement.device == nullptr) spec.clear_placement();
  const pipeline::Part part =
      placement.device == nullptr || spec.placement().finished()
          ? pipeline::Part::kWhole
          : pipeline::Part::kBeforeTail;
  absl::StatusOr<PipelinePtr> compiled =
      pipeline::Pipeline::Create(spec.pipeline(), part);
  if (!spec.pipeline().ops().empty()) {
    FOREBAY_RETURN_IF_ERROR(compiled.status());
  }
  storage::PaidSource reads(deps_.source, job.id());
  const dataset::Opening opening(stop, &reads);
  FOREBAY_ASSIGN_OR_RETURN(
      std::shared_ptr<const dataset::Dataset> dataset,
      OpenDataset(inputs, spec.dataset(), nullptr, opening));
  if (dataset->size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(dataset->uri(), ": the dataset has no samples"));
  }
  if (spec.sampler().block_samples() == 0) {
    spec.mutable_sampler()->set_block_samples(BlockSamples(*dataset));
  }
  FOREBAY_ASSIGN_OR_RETURN(
      sampler::Sampler sampler,
      sampler::Sampler::Create(spec.sampler(), dataset->size()));
  FOREBAY_ASSIGN_OR_RETURN(const stream::ImagePipelines images,
                           ImagesOf(*dataset, spec.pipeline(), part, compiled));
  FOREBAY_ASSIGN_OR_RETURN(
      std::vector<stream::FieldType> fields,
      TypesOf(*dataset, images, spec.pipeline().fields(), deps_, opening));
  const auto first =
      std::find_if(images.begin(), images.end(),
                   [](const auto& image) { return image != nullptr; });
  PipelinePtr pipeline = first == images.end() ? nullptr : *first;
  if (placement.device != nullptr)
    FOREBAY_RETURN_IF_ERROR(CheckForDevice(*dataset, fields));
  if (spec.name().empty()) spec.set_name(job.NextLoaderName());
  stream::StreamSpec stream_spec{.dataset = dataset,
                                 .sampler = sampler,
                                 .pipeline = pipeline,
                                 .fields = std::move(fields),
                                 .place = placement.device == nullptr
                                              ? proto::Place::kHost
                                              : proto::Place::kDevice,
                                 .batch = BatchOptionsOf(spec.batch()),
                                 .room = std::nullopt,
                                 .windows = nullptr,
                                 .seed = spec.sampler().seed(),
                                 .order_member = nullptr};
  const auto measure = [&](std::size_t field) {
    return MeasureSamples({.dataset = dataset, .field = field, .reads = &reads},
                          stop);
  };
  FOREBAY_RETURN_IF_ERROR(
      PlanLengths(spec, deps_.budget, measure, stop, &stream_spec));
  if (sampler.is_coordinated())
    FOREBAY_RETURN_IF_ERROR(JoinOrder(job.uid(), &stream_spec));
  FOREBAY_ASSIGN_OR_RETURN(auto stream,
                           StreamFor(job.uid(), spec, std::move(stream_spec)));
  FOREBAY_ASSIGN_OR_RETURN(std::shared_ptr<Loader> loader,
                           Loader::Create(spec,
                                          {.dataset = std::move(dataset),
                                           .pipeline = std::move(pipeline),
                                           .placement = std::move(placement),
                                           .stream = std::move(stream)},
                                          deps_.budget, job.id()));
  job.AddLoader(loader);
  return loader;
}

absl::StatusOr<std::unique_ptr<fetch::SampleReader>> LoaderOpener::OpenReader(
    const Job& job, const proto::LoaderSpec& spec,
    const dataset::composed::DatasetInputs& inputs, bool decode,
    std::vector<std::string>* warnings, const std::stop_token& stop) {
  PipelinePtr pipeline;
  if (!spec.pipeline().fields().empty())
    return absl::InvalidArgumentError(
        "single samples' fields have no transforms of their own");
  if (!spec.pipeline().ops().empty()) {
    if (!decode)
      return absl::InvalidArgumentError("a transform is for decoded images");
    FOREBAY_RETURN_IF_ERROR(pipeline::CheckNothingRandom(spec.pipeline()));
    FOREBAY_ASSIGN_OR_RETURN(pipeline,
                             pipeline::Pipeline::Create(spec.pipeline()));
  }
  storage::PaidSource reads(deps_.source, job.id());
  FOREBAY_ASSIGN_OR_RETURN(
      std::shared_ptr<const dataset::Dataset> dataset,
      OpenDataset(inputs, spec.dataset(), warnings, {stop, &reads}));
  FOREBAY_RETURN_IF_ERROR(CheckFields(*dataset, spec.pipeline()));
  return std::make_unique<fetch::SampleReader>(
      fetch::ReaderSpec{.dataset = std::move(dataset),
                        .decode = decode,
                        .pipeline = std::move(pipeline)},
      fetch::FetchDeps{.source = deps_.source,
                       .executor = deps_.executor,
                       .workspaces = deps_.workspaces,
                       .shared_workspace = deps_.shared_workspace,
                       .budget = deps_.budget,
                       .on_changed = deps_.on_changed},
      job.id());
}

std::unique_ptr<fetch::ObjectReader> LoaderOpener::MakeObjectReader(
    const Job& job) const {
  return std::make_unique<fetch::ObjectReader>(
      fetch::ObjectDeps{.source = deps_.source,
                        .budget = deps_.budget,
                        .find_version =
                            [catalog = catalog_](const storage::Root& root,
                                                 const std::string& object,
                                                 const std::stop_token& stop) {
                              return catalog->FindVersion(root, object, stop);
                            }},
      job.id());
}

absl::StatusOr<std::shared_ptr<const dataset::Dataset>>
LoaderOpener::OpenDataset(const dataset::composed::DatasetInputs& inputs,
                          const proto::DatasetSpec& spec,
                          std::vector<std::string>* warnings,
                          const dataset::Opening& opening) {
  std::vector<std::string> new_warnings;
  auto dataset =
      datasets_.Open(inputs, spec, *opening.reads, &new_warnings, opening);
  if (dataset.ok()) {
    std::vector<std::string> all =
        WarningsOf((*dataset)->version(), new_warnings);
    if (warnings != nullptr) *warnings = std::move(all);
  }
  Warn(std::move(new_warnings));
  return dataset;
}

absl::StatusOr<std::shared_ptr<const length_scan::ValueSizes>>
LoaderOpener::MeasureSamples(const length_scan::Subject& subject,
                             const std::stop_token& stop) {
  std::vector<std::string> warnings;
  auto sizes = length_scans_.Find(subject, &warnings, stop);
  Warn(std::move(warnings));
  return sizes;
}

void LoaderOpener::Warn(std::vector<std::string> warnings) {
  base::MutexLock lock(&mutex_);
  for (std::string& warning : warnings) {
    spdlog::warn("{}", warning);
    std::erase(warnings_, warning);
    warnings_.push_back(std::move(warning));
    if (warnings_.size() > kMaxWarnings) warnings_.pop_front();
  }
}

std::vector<std::string> LoaderOpener::WarningsOf(
    const dataset::Version& version, std::vector<std::string> warnings) {
  base::MutexLock lock(&mutex_);
  const auto kept = std::find_if(
      of_datasets_.begin(), of_datasets_.end(),
      [&](const OfDataset& one) { return one.version == version; });
  if (warnings.empty())
    return kept == of_datasets_.end() ? warnings : kept->warnings;
  if (kept != of_datasets_.end()) of_datasets_.erase(kept);
  warnings.resize(std::min(warnings.size(), kMaxWarnings));
  of_datasets_.push_back({version, warnings});
  if (of_datasets_.size() > kMaxWarnings) of_datasets_.pop_front();
  return warnings;
}

std::vector<std::string> LoaderOpener::Warnings() const {
  base::MutexLock lock(&mutex_);
  return {warnings_.begin(), warnings_.end()};
}

absl::Status LoaderOpener::JoinOrder(std::uint32_t uid,
                                     stream::StreamSpec* stream_spec) {
  const std::uint64_t bytes =
      stream::Coordinator::BytesOfMember(stream_spec->dataset->size());
  auto reserved = deps_.budget->Reserve(bytes, "the coordinated order");
  if (!reserved.ok())
    return base::Annotate(reserved.status(), stream_spec->dataset->uri());
  const cache::VariantStore* const variants = deps_.variant_store;
  // A sixteenth of the room is left for decoded samples (variants) that are
  // being made, are being evicted or are larger than the mean.
  const std::uint64_t room =
      variants == nullptr ? 0 : variants->variant_capacity() / 16 * 15;
  stream_spec->order_member =
      coordinators_.For(uid, *stream_spec, room, deps_.budget)
          ->Join(*std::move(reserved));
  stream_spec->sampler = stream_spec->sampler.With(stream_spec->order_member);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<stream::Stream>> LoaderOpener::StreamFor(
    std::uint32_t uid, const proto::LoaderSpec& spec,
    stream::StreamSpec stream_spec) {
  const auto key = StreamKey(uid, spec, *stream_spec.dataset);
  const auto fields = stream_spec.fields;
  const auto suits = [&](const stream::Stream& stream) {
    return stream.HasRoomFor(fields);
  };
  const auto make = [&] {
    return stream::Stream::Create(std::move(stream_spec), deps_,
                                  spec.sharing() == proto::LoaderSpec::LOCKSTEP
                                      ? stream::SharingMode::kLockstep
                                      : stream::SharingMode::kElastic);
  };
  return key.has_value() ? streams_.Find(*key, suits, make) : make();
}

}  // namespace forebay::job
