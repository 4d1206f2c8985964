#include "server/job/loader.h"

#include <utility>

#include "server/base/index_list.h"
#include "server/base/sealed_memory.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/job/spec.h"

namespace forebay::job {
namespace {

std::uint64_t BytesOf(const std::vector<std::string>& names) {
  std::uint64_t bytes = 0;
  for (const std::string& name : names)
    bytes += sizeof(std::string) + base::HeapBytes(name.size());
  return bytes;
}

proto::LoaderSpec WithoutDataset(proto::LoaderSpec spec) {
  spec.clear_dataset();
  return spec;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Loader>> Loader::Create(
    const proto::LoaderSpec& spec,
    std::shared_ptr<const dataset::Dataset> dataset, base::MemoryBudget* budget,
    std::shared_ptr<stream::Stream> stream, JobId job) {
  FOREBAY_ASSIGN_OR_RETURN(auto channel, arena::Channel::Create());
  FOREBAY_ASSIGN_OR_RETURN(
      const arena::MemberId member,
      stream->Join(channel.get(), job, spec.batch().depth()));
  return std::shared_ptr<Loader>(new Loader(spec, std::move(dataset), budget,
                                            std::move(channel),
                                            std::move(stream), member));
}

Loader::Loader(proto::LoaderSpec spec,
               std::shared_ptr<const dataset::Dataset> dataset,
               base::MemoryBudget* budget,
               std::unique_ptr<arena::Channel> channel,
               std::shared_ptr<stream::Stream> stream, arena::MemberId member)
    : uri_(NameOf(spec.dataset())),
      spec_(WithoutDataset(std::move(spec))),
      dataset_(std::move(dataset)),
      budget_(budget),
      channel_(std::move(channel)),
      stream_(std::move(stream)),
      member_(member) {}

Loader::~Loader() { stream_->Forfeit(member_); }

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
    (is_coordinated ? start.seen : start.samples) = std::move(samples);
  }
  base::MutexLock lock(&control_);
  return stream_->Start(member_, start);
}

std::uint32_t Loader::StopEpoch() {
  base::MutexLock lock(&control_);
  stream_->Stop(member_);
  return channel_->published();
}

void Loader::Close() {
  base::MutexLock lock(&control_);
  stream_->Close(member_);
}

absl::Status Loader::TakeReleases() {
  channel_->ClearEvent();
  return stream_->TakeReleases(member_);
}

void Loader::Rest(std::int64_t idle_nanos) {
  stream_->Rest();
  stream_->Reclaim(idle_nanos);
}

bool Loader::HasLeases() { return stream_->Holds(member_); }

LoaderSnapshot Loader::Snapshot() const {
  return {.name = spec_.name(),
          .uri = uri_,
          .dataset_size = dataset_->size(),
          .batch_size = spec_.batch().batch_size(),
          .samples_per_epoch = stream_->samples_per_epoch(),
          .stream = stream_->Snapshot(member_),
          .client = channel_->client_report()};
}

absl::StatusOr<PeekedBatch> Loader::Peek() const {
  PeekedBatch batch;
  FOREBAY_ASSIGN_OR_RETURN(stream::SlotCopy copy, stream_->Peek());
  batch.slot = std::move(copy.bytes);
  batch.reservation = std::move(copy.reservation);
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation names,
      budget_->Reserve(2 * BytesOf(dataset_->classes()), "names of classes"));
  batch.reservation.Add(std::move(names));
  batch.pipeline = spec_.pipeline();
  batch.classes = dataset_->classes();
  return batch;
}

}  // namespace forebay::job
