#include "server/job/registry.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/job/spec.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/random_ops.h"
#include "server/sample/sample_identity.h"
#include "server/sampler/sampler.h"
#include "server/storage/byte_source.h"
#include "server/storage/read_now.h"
#include "server/stream/field_type.h"
#include "spdlog/spdlog.h"

namespace forebay::job {
namespace {

constexpr std::size_t kMaxWarnings = 16;

using PipelinePtr = std::shared_ptr<const pipeline::Pipeline>;

// `pipeline` is what the spec's came to. Null: the dataset has no image, and
// nothing is to be done with one.
absl::StatusOr<PipelinePtr> PipelineFor(const dataset::Dataset& dataset,
                                        const proto::PipelineSpec& spec,
                                        absl::StatusOr<PipelinePtr> pipeline) {
  if (stream::HasField(dataset, proto::FieldKind::kImage)) return pipeline;
  if (spec.ops().empty()) return PipelinePtr();
  return absl::InvalidArgumentError(absl::StrCat(
      dataset.uri(), ": there is a transform, but no field that is an image"));
}

// Samples that together have some megabytes, on average: what is read best in
// one go, and little beside what a page cache holds.
std::uint64_t BlockSamples(const dataset::Dataset& dataset) {
  constexpr std::uint64_t kBlockBytes = std::uint64_t{4} << 20;
  constexpr std::uint64_t kProbes = 1000;
  const std::uint64_t step =
      std::max<std::uint64_t>(dataset.size() / kProbes, 1);
  std::uint64_t bytes = 1;
  std::uint64_t probes = 1;
  for (std::uint64_t id = 0; id < dataset.size(); id += step, ++probes) {
    bytes += dataset.At(id).length;
  }
  return std::max<std::uint64_t>(kBlockBytes / (bytes / probes + 1), 1);
}

// Blocks for a read where the dataset has arrays.
absl::StatusOr<std::vector<stream::FieldType>> TypesOf(
    const dataset::Dataset& dataset, const pipeline::Pipeline* pipeline,
    storage::ByteSource& source, schedule::Flow flow,
    const std::stop_token& stop) {
  base::Bytes first;
  if (stream::NeedsFirstSample(dataset)) {
    storage::ReadRequest request =
        sample::SampleIdentity(&dataset).RequestFor(0);
    // The cache would take it for a sample that nobody wants again: no loader
    // is registered yet.
    request.sample = {};
    request.purpose.job = flow;
    FOREBAY_ASSIGN_OR_RETURN(
        first, storage::ReadNow(source, std::move(request), stop));
  }
  auto types = stream::TypesOf(
      dataset, pipeline == nullptr ? nullptr : &pipeline->output(),
      first.span());
  if (!types.ok()) return base::Annotate(types.status(), dataset.uri());
  return types;
}

}  // namespace

Attachment::~Attachment() { registry_->Detach(job_, pid_); }

absl::StatusOr<std::shared_ptr<Loader>> Attachment::OpenLoader(
    proto::LoaderSpec spec, const dataset::composed::DatasetInputs& inputs,
    const std::stop_token& stop) {
  FOREBAY_RETURN_IF_ERROR(CheckLoader(spec));
  // What costs nothing to find wrong comes before the scan.
  absl::StatusOr<PipelinePtr> compiled =
      pipeline::Pipeline::Create(spec.pipeline());
  if (!spec.pipeline().ops().empty()) {
    FOREBAY_RETURN_IF_ERROR(compiled.status());
  }
  FOREBAY_ASSIGN_OR_RETURN(
      std::shared_ptr<const dataset::Dataset> dataset,
      registry_->OpenDataset(inputs, spec.dataset(), stop));
  if (spec.sampler().block_samples() == 0) {
    spec.mutable_sampler()->set_block_samples(BlockSamples(*dataset));
  }
  FOREBAY_ASSIGN_OR_RETURN(
      sampler::Sampler sampler,
      sampler::Sampler::Create(spec.sampler(), dataset->size()));
  FOREBAY_ASSIGN_OR_RETURN(
      PipelinePtr pipeline,
      PipelineFor(*dataset, spec.pipeline(), std::move(compiled)));
  FOREBAY_ASSIGN_OR_RETURN(
      std::vector<stream::FieldType> fields,
      TypesOf(*dataset, pipeline.get(), *registry_->deps_.source, job_->flow(),
              stop));
  if (spec.name().empty()) spec.set_name(job_->NextLoaderName());
  stream::StreamSpec stream_spec{.dataset = std::move(dataset),
                                 .sampler = sampler,
                                 .pipeline = std::move(pipeline),
                                 .fields = std::move(fields),
                                 .batch = spec.batch(),
                                 .seed = spec.sampler().seed(),
                                 .order_member = nullptr};
  if (sampler.is_coordinated())
    FOREBAY_RETURN_IF_ERROR(registry_->Coordinate(job_->uid(), &stream_spec));
  dataset = stream_spec.dataset;
  FOREBAY_ASSIGN_OR_RETURN(
      auto stream,
      registry_->StreamFor(job_->uid(), spec, std::move(stream_spec)));
  FOREBAY_ASSIGN_OR_RETURN(
      std::shared_ptr<Loader> loader,
      Loader::Create(spec, std::move(dataset), registry_->deps_.budget,
                     std::move(stream), job_->flow()));
  job_->AddLoader(loader);
  registry_->TellCapped(*job_);
  return loader;
}

absl::StatusOr<std::shared_ptr<stream::Stream>> Registry::StreamFor(
    std::uint32_t uid, const proto::LoaderSpec& spec,
    stream::StreamSpec stream_spec) {
  const auto key = StreamKey(uid, spec, *stream_spec.dataset);
  const auto make = [&] {
    return stream::Stream::Create(std::move(stream_spec), deps_,
                                  spec.sharing() == proto::LoaderSpec::LOCKSTEP
                                      ? stream::SharingMode::kLockstep
                                      : stream::SharingMode::kElastic);
  };
  return key.has_value() ? streams_.Find(*key, make) : make();
}

absl::Status Registry::Coordinate(std::uint32_t uid,
                                  stream::StreamSpec* stream_spec) {
  const std::uint64_t bytes =
      stream::Coordinator::BytesOfMember(stream_spec->dataset->size());
  auto held = deps_.budget->Reserve(bytes, "the coordinated order");
  if (!held.ok())
    return base::Annotate(held.status(), stream_spec->dataset->uri());
  const cache::VariantStore* const keeper = deps_.variant_store;
  // Some are on their way in or out, and some larger than others.
  const std::uint64_t room =
      keeper == nullptr ? 0 : keeper->variant_capacity() / 16 * 15;
  stream_spec->order_member =
      coordinators_.For(uid, *stream_spec, room, deps_.budget)
          ->Join(*std::move(held));
  stream_spec->sampler = stream_spec->sampler.With(stream_spec->order_member);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<fetch::SampleReader>> Attachment::OpenReader(
    const proto::LoaderSpec& spec,
    const dataset::composed::DatasetInputs& inputs, bool decode,
    const std::stop_token& stop) {
  PipelinePtr pipeline;
  if (!spec.pipeline().ops().empty()) {
    if (!decode)
      return absl::InvalidArgumentError("a transform is for decoded images");
    FOREBAY_RETURN_IF_ERROR(pipeline::CheckNothingRandom(spec.pipeline()));
    FOREBAY_ASSIGN_OR_RETURN(pipeline,
                             pipeline::Pipeline::Create(spec.pipeline()));
  }
  FOREBAY_ASSIGN_OR_RETURN(
      std::shared_ptr<const dataset::Dataset> dataset,
      registry_->OpenDataset(inputs, spec.dataset(), stop));
  FOREBAY_RETURN_IF_ERROR(
      PipelineFor(*dataset, spec.pipeline(), pipeline).status());
  const stream::StreamDeps& deps = registry_->deps_;
  return std::make_unique<fetch::SampleReader>(
      fetch::ReaderSpec{.dataset = std::move(dataset),
                        .decode = decode,
                        .pipeline = std::move(pipeline)},
      fetch::FetchDeps{.source = deps.source,
                       .executor = deps.executor,
                       .workspaces = deps.workspaces,
                       .shared_workspace = deps.shared_workspace,
                       .budget = deps.budget,
                       .on_changed = deps.on_changed},
      job_->flow());
}

absl::StatusOr<std::shared_ptr<const dataset::Dataset>> Registry::OpenDataset(
    const dataset::composed::DatasetInputs& inputs,
    const proto::DatasetSpec& spec, const std::stop_token& stop) {
  std::vector<std::string> warnings;
  auto dataset = datasets_.Open(inputs, spec, *deps_.source, &warnings, stop);
  base::MutexLock lock(&mutex_);
  for (std::string& warning : warnings) {
    spdlog::warn("{}", warning);
    std::erase(warnings_, warning);
    warnings_.push_back(std::move(warning));
    if (warnings_.size() > kMaxWarnings) warnings_.pop_front();
  }
  return dataset;
}

std::vector<std::string> Registry::Warnings() const {
  base::MutexLock lock(&mutex_);
  return {warnings_.begin(), warnings_.end()};
}

absl::StatusOr<std::unique_ptr<Attachment>> Registry::Attach(
    const proto::JobIdentity& identity, std::uint32_t uid, std::uint32_t pid) {
  FOREBAY_RETURN_IF_ERROR(CheckIdentity(identity));
  const double weight = identity.weight() == 0 ? 1 : identity.weight();
  base::MutexLock lock(&mutex_);
  std::shared_ptr<Job>& job = jobs_[{uid, identity.key()}];
  if (job == nullptr)
    job = std::make_shared<Job>(uid, identity.key(), ++last_flow_);
  ApplyWeight(*job, job->Describe(identity.name().empty() ? identity.key()
                                                          : identity.name(),
                                  weight));
  job->AddProcess(pid);
  return std::unique_ptr<Attachment>(new Attachment(this, job, pid));
}

void Registry::Detach(const std::shared_ptr<Job>& job, std::uint32_t pid) {
  base::MutexLock lock(&mutex_);
  if (!job->RemoveProcess(pid)) return;
  deps_.executor->Forget(job->flow());
  deps_.source->Forget(job->flow());
  jobs_.erase({job->uid(), job->key()});
}

std::vector<std::shared_ptr<Job>> Registry::Jobs() const {
  base::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Job>> jobs;
  for (const auto& [key, job] : jobs_) jobs.push_back(job);
  return jobs;
}

void Registry::ApplyWeight(const Job& job, double weight) {
  deps_.executor->SetWeight(job.flow(), weight);
  deps_.source->SetWeight(job.flow(), weight);
}

absl::StatusOr<std::shared_ptr<Job>> Registry::FindLocked(
    const std::string& job) const {
  std::vector<std::string> seen;
  std::vector<std::shared_ptr<Job>> by_key;
  std::vector<std::shared_ptr<Job>> by_name;
  for (const auto& [key, j] : jobs_) {
    seen.push_back(j->name());
    if (j->key() == job) by_key.push_back(j);
    if (j->name() == job) by_name.push_back(j);
  }
  const auto& found = by_key.empty() ? by_name : by_key;
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("several jobs are called ", job, ": name one by its key"));
  }
  std::sort(seen.begin(), seen.end());
  return absl::NotFoundError(absl::StrCat(
      "no job is called ", job,
      seen.empty() ? ": there is none"
                   : absl::StrCat("; there is: ", absl::StrJoin(seen, ", "))));
}

absl::Status Registry::Change(const std::string& job, const JobChange& change) {
  FOREBAY_RETURN_IF_ERROR(CheckChange(change));
  std::shared_ptr<Job> found;
  {
    // Held, so that the job does not end before its flow is told.
    base::MutexLock lock(&mutex_);
    FOREBAY_ASSIGN_OR_RETURN(found, FindLocked(job));
    found->Change(change);
    if (change.weight.has_value()) ApplyWeight(*found, *change.weight);
    if (change.max_read.has_value())
      deps_.source->SetCap(found->flow(), *change.max_read);
    if (change.max_cpus.has_value())
      deps_.executor->SetCap(found->flow(), *change.max_cpus);
  }
  TellCapped(*found);
  return absl::OkStatus();
}

void Registry::TellCapped(const Job& job) {
  base::MutexLock lock(&telling_);
  for (const std::shared_ptr<Loader>& loader : job.Loaders())
    loader->SetCapped(job.IsCapped());
}

void Registry::ReclaimIdle(std::int64_t idle_nanos) {
  for (const std::shared_ptr<Job>& job : Jobs()) {
    for (const std::shared_ptr<Loader>& loader : job->Loaders()) {
      loader->Rest(idle_nanos);
    }
  }
}

std::uint64_t Registry::SlotBytes() const {
  std::uint64_t bytes = 0;
  std::set<const stream::Stream*> counted;
  for (const std::shared_ptr<Job>& job : Jobs()) {
    for (const std::shared_ptr<Loader>& loader : job->Loaders()) {
      if (counted.insert(loader->stream()).second)
        bytes += loader->slot_bytes() * loader->Snapshot().queues.slots;
    }
  }
  return bytes;
}

std::vector<JobSnapshot> Registry::Snapshot() const {
  std::vector<JobSnapshot> snapshots;
  for (const std::shared_ptr<Job>& job : Jobs())
    snapshots.push_back(job->Snapshot());
  std::sort(snapshots.begin(), snapshots.end(),
            [](const JobSnapshot& a, const JobSnapshot& b) {
              return std::tie(a.name, a.key) < std::tie(b.name, b.key);
            });
  return snapshots;
}

absl::StatusOr<PeekedBatch> Registry::Peek(const std::string& job,
                                           const std::string& loader) const {
  std::shared_ptr<Job> found;
  {
    base::MutexLock lock(&mutex_);
    FOREBAY_ASSIGN_OR_RETURN(found, FindLocked(job));
  }
  std::vector<std::string> seen;
  for (const std::shared_ptr<Loader>& l : found->Loaders()) {
    seen.push_back(l->name());
    if (loader.empty() ? l->Snapshot().running : l->name() == loader)
      return l->Peek();
  }
  const std::string wanted =
      loader.empty()
          ? absl::StrCat("no loader of job ", job, " runs now")
          : absl::StrCat("job ", job, " has no loader called ", loader);
  return absl::NotFoundError(
      seen.empty()
          ? absl::StrCat(wanted, ": there is none")
          : absl::StrCat(wanted, "; there is: ", absl::StrJoin(seen, ", ")));
}

}  // namespace forebay::job
