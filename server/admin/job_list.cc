#include "server/admin/job_list.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cuda/device_notes.h"
#include "cuda/driver.h"
#include "proto/shm_layout.h"
#include "server/admin/cache_status.h"
#include "server/admin/valid_utf8.h"
#include "server/stream/stream_snapshot.h"

namespace forebay::admin {
namespace {

// The low bits of an epoch's number, which are shown. In the bits above, a
// trainer numbers the portions of a long list of samples (StartEpoch in
// session.proto).
constexpr int kEpochBits = 40;

// If there is no cap, a message has 0 where a struct has infinity: JSON has no
// infinity, and an unset field is 0.
double CapToProto(double cap) { return std::isinf(cap) ? 0 : cap; }
double CapFromProto(double cap) {
  return cap == 0 ? std::numeric_limits<double>::infinity() : cap;
}

// Returns the value that messages have for a sharing state. The switch has no
// default, so that the compiler finds states that are added to one enum alone.
proto::LoaderSharing::SharingState ToProto(stream::SharingState state) {
  switch (state) {
    case stream::SharingState::kAlone:
      return proto::LoaderSharing::ALONE;
    case stream::SharingState::kTogether:
      return proto::LoaderSharing::TOGETHER;
    case stream::SharingState::kTrailing:
      return proto::LoaderSharing::TRAILING;
    case stream::SharingState::kCatching:
      return proto::LoaderSharing::CATCHING;
    case stream::SharingState::kYielding:
      return proto::LoaderSharing::YIELDING;
    case stream::SharingState::kApart:
      return proto::LoaderSharing::APART;
  }
  return proto::LoaderSharing::ALONE;
}

// Fills the numbers that tell where the loader's batches are now.
void FillQueues(const stream::StreamSnapshot& in, proto::LoaderQueues* out) {
  out->set_slots(in.slots);
  out->set_slots_free(in.slot_counts.free);
  out->set_slots_filling(in.slot_counts.filling);
  out->set_slots_ready(in.ready());
  out->set_slots_leased(in.held());
  out->set_reads_in_flight(in.prefetch.reads_in_flight);
  out->set_samples_to_decode(in.samples_to_decode);
  out->set_bytes_in_flight(in.prefetch.bytes_in_flight);
  out->set_depth(in.depth);
  out->set_window_bytes(in.prefetch.window);
  out->set_slots_kept(in.slot_counts.kept);
  out->set_slots_copying(in.slots_copying);
}

// The functions Fill copy a struct into its message, field by field. Text of
// users becomes valid UTF-8.
void Fill(const job::LoaderSnapshot& in, proto::Loader* out) {
  out->set_name(ValidUtf8(in.name));
  out->set_uri(ValidUtf8(in.uri));
  out->set_dataset_size(in.dataset_size);
  out->set_batch_size(in.batch_size);
  out->set_epoch(in.stream.epoch & ((std::uint64_t{1} << kEpochBits) - 1));
  out->set_position(in.stream.position);
  out->set_samples_per_epoch(in.samples_per_epoch);
  out->set_running(in.running());
  if (in.gpu.has_value()) out->set_gpu(static_cast<std::uint32_t>(*in.gpu));
  out->set_gpu_refusal(ValidUtf8(in.gpu_refusal));
  *out->mutable_counters() = in.Counters();
  FillQueues(in.stream, out->mutable_queues());
  proto::LoaderSharing* const sharing = out->mutable_sharing();
  sharing->set_members(in.stream.members);
  sharing->set_behind(in.stream.sharing.behind);
  sharing->set_standing(ToProto(in.stream.sharing.state));
  sharing->set_lacks_key(in.lacks_share_key);
  sharing->set_iterated_alone(in.is_iterated_alone);
}

void Fill(const cuda::DeviceInfo& in, proto::Gpu* out) {
  out->set_ordinal(static_cast<std::uint32_t>(in.ordinal));
  out->set_uuid(ValidUtf8(in.uuid));
  out->set_name(ValidUtf8(in.name));
  out->set_memory_bytes(in.memory_bytes);
  out->set_compute_major(static_cast<std::uint32_t>(in.compute_major));
  out->set_compute_minor(static_cast<std::uint32_t>(in.compute_minor));
  out->set_pci_address(ValidUtf8(in.pci_address));
  out->set_numa_node(in.numa_node);
  for (const std::string& note : cuda::NotesOn(in)) out->add_notes(note);
}

void Fill(const cuda::Inventory& in, proto::Gpus* out) {
  for (const cuda::DeviceInfo& device : in.devices) {
    Fill(device, out->add_devices());
  }
  out->set_absence(ValidUtf8(in.absence));
  out->set_driver_version(ValidUtf8(in.driver_version));
  out->set_cuda_version(ValidUtf8(in.cuda_version));
}

void Fill(const GpuUse& in, proto::GpuUse* out) {
  out->set_slot_bytes(in.slot_bytes);
  out->set_slot_limit(in.slot_limit);
  out->set_copies(in.copies);
  out->set_copied_bytes(in.copied_bytes);
  out->set_waiting_bytes(in.waiting_bytes);
  out->set_fault(ValidUtf8(in.fault));
}

void Fill(const LocalReadsInfo& in, proto::LocalReads* out) {
  out->set_io_uring(in.io_uring);
  out->set_threads(in.threads);
  out->set_refusal(ValidUtf8(in.refusal));
}

void Fill(const UserWorkersInfo& in, proto::UserWorkers* out) {
  out->set_count(in.count);
  out->set_memory_used(in.memory_used);
  out->set_memory_limit(in.memory_limit);
  out->set_ended(in.ended);
}

proto::PendingRequest::Kind ToProto(job::PendingRequest::Kind kind) {
  using Kind = job::PendingRequest::Kind;
  switch (kind) {
    case Kind::kOpening:
      return proto::PendingRequest::OPENING;
    case Kind::kFetching:
      return proto::PendingRequest::FETCHING;
    case Kind::kReading:
      return proto::PendingRequest::READING;
    case Kind::kStarting:
      return proto::PendingRequest::STARTING;
  }
  return proto::PendingRequest::OPENING;
}

// Adds the requests that a job waits for, with the time since they came.
void FillPending(
    const job::JobSnapshot& job, std::int64_t now_nanos,
    google::protobuf::RepeatedPtrField<proto::PendingRequest>* out) {
  for (const job::PendingRequest& in : job.pending) {
    proto::PendingRequest& pending = *out->Add();
    pending.set_kind(ToProto(in.kind));
    pending.set_job(ValidUtf8(job.name));
    pending.set_uri(ValidUtf8(in.uri));
    pending.set_host(ValidUtf8(in.host));
    const std::int64_t nanos =
        std::max<std::int64_t>(now_nanos - in.since_nanos, 0);
    pending.set_seconds(static_cast<double>(nanos) * 1e-9);
  }
}

// Adds counts of requests to a sum, because a job may read from several
// sources.
void Add(const RemoteRequestsInfo& in, proto::RemoteRequests* sum) {
  sum->set_reads(sum->reads() + in.reads);
  sum->set_lists(sum->lists() + in.lists);
  sum->set_others(sum->others() + in.others);
  sum->set_retries(sum->retries() + in.retries);
  sum->set_hedges(sum->hedges() + in.hedges);
  sum->set_failures(sum->failures() + in.failures);
  sum->set_bytes(sum->bytes() + in.bytes);
}

}  // namespace

job::JobChange FromProto(const proto::SetJobRequest& request) {
  job::JobChange change;
  if (request.has_weight()) change.weight = request.weight();
  if (request.has_max_read_bytes_per_second())
    change.max_read = CapFromProto(request.max_read_bytes_per_second());
  if (request.has_max_cpus())
    change.max_cpus = CapFromProto(request.max_cpus());
  return change;
}

proto::JobList ToProto(const std::vector<job::JobSnapshot>& jobs,
                       const cache::CacheSnapshot& cache,
                       const std::vector<RemoteRequestsInfo>& requests,
                       std::int64_t now_nanos) {
  proto::JobList list;
  for (const job::JobSnapshot& in : jobs) {
    proto::Job* out = list.add_jobs();
    out->set_key(ValidUtf8(in.key));
    out->set_name(ValidUtf8(in.name));
    out->set_weight(in.weight);
    out->set_max_read_bytes_per_second(CapToProto(in.max_read));
    out->set_max_cpus(CapToProto(in.max_cpus));
    out->set_uid(in.uid);
    out->mutable_pids()->Assign(in.pids.begin(), in.pids.end());
    for (const RemoteRequestsInfo& of : requests)
      if (of.job == in.id) Add(of, out->mutable_remote_requests());
    for (const job::LoaderSnapshot& loader : in.loaders) {
      Fill(loader, out->add_loaders());
    }
    *out->mutable_traffic() = TrafficOf(cache, in);
    FillPending(in, now_nanos, out->mutable_pending());
  }
  return list;
}

proto::DaemonStatus ToProto(const DaemonInfo& info,
                            const std::vector<job::JobSnapshot>& jobs,
                            std::int64_t now_nanos) {
  proto::DaemonStatus status;
  status.set_version(info.version);
  status.set_protocol_version(proto::kProtocolVersion);
  status.set_pid(static_cast<std::uint32_t>(getpid()));
  status.set_uid(getuid());
  status.set_uptime_seconds(info.uptime_seconds);
  status.set_runtime_dir(ValidUtf8(info.runtime_dir));
  status.set_config_file(ValidUtf8(info.config_file));
  status.set_index_directory(ValidUtf8(info.index_directory));
  status.set_memory_limit(info.memory_limit);
  status.set_memory_used(info.memory_used);
  status.set_memory_slots(info.memory_slots);
  status.set_memory_cache(info.memory_cache);
  Fill(info.user_workers, status.mutable_producers());
  status.set_workers(info.workers);
  status.set_workers_busy(info.workers_busy);
  status.set_tasks_queued(info.tasks_queued);
  status.set_sessions(info.sessions);
  std::uint32_t loaders = 0;
  for (const job::JobSnapshot& job : jobs) {
    loaders += static_cast<std::uint32_t>(job.loaders.size());
    FillPending(job, now_nanos, status.mutable_pending());
  }
  status.set_jobs(static_cast<std::uint32_t>(jobs.size()));
  status.set_loaders(loaders);
  status.set_simd_target(info.simd_target);
  status.set_read_cpu_nanos(info.read_cpu_nanos);
  Fill(info.gpus, status.mutable_gpus());
  for (const GpuUse& use : info.gpu_uses) {
    if (use.ordinal < status.gpus().devices_size())
      Fill(use,
           status.mutable_gpus()->mutable_devices(use.ordinal)->mutable_use());
  }
  Fill(info.local_reads, status.mutable_local_reads());
  for (const auto& [name, state] : info.sources) {
    proto::Source& source = *status.add_sources();
    source.set_name(name);
    source.set_concurrency(static_cast<std::uint32_t>(state.concurrency));
    source.set_in_flight(state.in_flight);
    source.set_waiting(state.waiting);
    source.set_request_cost(static_cast<std::uint64_t>(state.request_cost));
  }
  status.set_bucket_credentials(ValidUtf8(info.bucket_credentials));
  for (const RemoteRequestsInfo& of : info.remote_requests)
    Add(of, status.mutable_remote_requests());
  for (const std::string& warning : info.warnings) {
    status.add_warnings(ValidUtf8(warning));
  }
  return status;
}

}  // namespace forebay::admin
