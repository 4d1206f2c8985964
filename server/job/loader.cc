#include "server/job/loader.h"

#include <utility>

#include "server/base/index_list.h"
#include "server/base/sealed_memory.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/job/spec.h"

namespace forebay::job {
namespace {

// Returns the number of bytes of memory that a list of names takes.
std::uint64_t BytesOf(const std::vector<std::string>& names) {
  std::uint64_t bytes = 0;
  for (const std::string& name : names)
    bytes += sizeof(std::string) + base::HeapBytes(name.size());
  return bytes;
}

// Returns the spec without its dataset, whose lists may be long. The loader
// needs only the dataset's name.
proto::LoaderSpec WithoutDataset(proto::LoaderSpec spec) {
  spec.clear_dataset();
  return spec;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Loader>> Loader::Create(
    const proto::LoaderSpec& spec, Origin origin, base::MemoryBudget* budget,
    JobId job) {
  FOREBAY_ASSIGN_OR_RETURN(auto channel, slots::Channel::Create());
  FOREBAY_ASSIGN_OR_RETURN(
      const slots::MemberId member,
      origin.stream->Join(channel.get(), job, spec.batch().depth(),
                          origin.placement.device));
  return std::shared_ptr<Loader>(
      new Loader(spec, std::move(origin), budget, std::move(channel), member));
}

Loader::Loader(proto::LoaderSpec spec, Origin origin,
               base::MemoryBudget* budget,
               std::unique_ptr<slots::Channel> channel, slots::MemberId member)
    : uri_(NameOf(spec.dataset())),
      spec_(WithoutDataset(std::move(spec))),
      origin_(std::move(origin)),
      budget_(budget),
      channel_(std::move(channel)),
      member_(member) {}

Loader::~Loader() { origin_.stream->RemoveMember(member_); }

const pipeline::Tail* Loader::tail() const {
  return origin_.pipeline == nullptr ? nullptr : origin_.pipeline->tail();
}

absl::StatusOr<std::vector<base::Fd>> Loader::StartEpoch(
    std::uint64_t epoch, std::uint64_t first_sample, const base::Fd& list) {
  constexpr char kWhat[] = "the list of the epoch's samples";
  stream::EpochStart start{.epoch = epoch, .first_sample = first_sample};
  if (list) {
    FOREBAY_ASSIGN_OR_RETURN(auto memory,
                             base::SealedMemory::Map(list, budget_, kWhat));
    FOREBAY_ASSIGN_OR_RETURN(
        auto samples, base::IndexList::Create(
                          std::move(memory), dataset().size(), budget_, kWhat));
    const bool is_coordinated =
        spec_.sampler().order() == proto::SamplerSpec::COORDINATED;
    (is_coordinated ? start.seen_samples : start.samples) = std::move(samples);
  }
  base::MutexLock lock(&control_);
  return origin_.stream->Start(member_, start);
}

std::uint32_t Loader::StopEpoch() {
  base::MutexLock lock(&control_);
  origin_.stream->Stop(member_);
  return channel_->published();
}

void Loader::Close() {
  base::MutexLock lock(&control_);
  origin_.stream->Close(member_);
}

absl::Status Loader::TakeReleases() {
  channel_->ClearEvent();
  return origin_.stream->TakeReleases(member_);
}

void Loader::ReleaseIdleMemory(std::int64_t idle_nanos) {
  if (rests_.exchange(true)) return;
  origin_.stream->ReleaseIdleMemory();
  origin_.stream->Reclaim(idle_nanos);
  rests_ = false;
}

bool Loader::HasLeases() { return origin_.stream->Holds(member_); }

LoaderSnapshot Loader::Snapshot() const {
  const bool is_codes_own = origin_.stream->needs_workers() &&
                            spec_.sharing() == proto::LoaderSpec::OFF;
  const device::Device* const device = placement().device.get();
  return {
      .name = spec_.name(),
      .uri = uri_,
      .dataset_size = dataset().size(),
      .batch_size = spec_.batch().batch_size(),
      .samples_per_epoch = origin_.stream->samples_per_epoch(),
      .stream = origin_.stream->Snapshot(member_),
      .client = channel_->client_report(),
      .gpu = device == nullptr ? std::nullopt
                               : std::optional(device->info().ordinal),
      .gpu_refusal = placement().refusal,
      .lacks_share_key = is_codes_own && dataset().affinity_workers() == 0,
      .is_iterated_alone = is_codes_own && dataset().affinity_workers() > 0};
}

absl::StatusOr<PeekedBatch> Loader::Peek() const {
  PeekedBatch batch;
  FOREBAY_ASSIGN_OR_RETURN(stream::SlotCopy copy, origin_.stream->Peek());
  batch.slot = std::move(copy.bytes);
  batch.reservation = std::move(copy.reservation);
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation names,
      budget_->Reserve(2 * BytesOf(dataset().classes()), "names of classes"));
  batch.reservation.Add(std::move(names));
  batch.pipeline =
      tail() == nullptr ? spec_.pipeline() : WithoutTail(spec_.pipeline());
  batch.classes = dataset().classes();
  return batch;
}

}  // namespace forebay::job
