#include "server/daemon/daemon.h"

#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/version.h"
#include "server/base/clock.h"
#include "server/base/duplicate.h"
#include "server/base/status.h"
#include "server/daemon/request_figures.h"
#include "server/pipeline/vector_target.h"
#include "server/storage/local/local_root.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
// The time that requests have to end once they are interrupted.
constexpr std::chrono::seconds kRequestsEnd(2);
// The most threads of one scan of a folder. Each waits for the file system most
// of the time, so there are more threads than CPUs.
constexpr int kMostScanThreads = 64;

// Returns the time since 1970 (UTC), which indexes compare with times of files.
std::int64_t WallClockNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The seed of the cache's draws for eviction. A fixed seed makes runs alike.
// The seed never affects the bytes of a batch.
constexpr std::uint64_t kCacheSeed = 1;

// Returns the facts of a GPU in use that `forebayctl status` shows.
admin::GpuUse UseOf(device::Device& device) {
  const device::CopyCounters counters = device.copier().counters();
  return {.ordinal = device.info().ordinal,
          .slot_bytes = device.budget().used(),
          .slot_limit = device.budget().limit(),
          .copies = counters.copies,
          .copied_bytes = counters.bytes,
          .waiting_bytes = counters.waiting_bytes,
          .fault = std::string(device.copier().health().message())};
}

std::int64_t Nanos(double seconds) {
  return static_cast<std::int64_t>(seconds * kNanosPerSecond);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Create(
    const proto::Config& config, std::string config_file,
    RuntimeDir runtime_dir) {
  FOREBAY_ASSIGN_OR_RETURN(const Resources resources, MeasureResources(config));
  std::unique_ptr<Daemon> daemon(new Daemon(config, std::move(config_file),
                                            std::move(runtime_dir), resources));
  FOREBAY_RETURN_IF_ERROR(daemon->Assemble(resources));
  FOREBAY_ASSIGN_OR_RETURN(daemon->loop_, base::EventLoop::Create());
  FOREBAY_RETURN_IF_ERROR(daemon->Listen());
  return daemon;
}

Daemon::Daemon(const proto::Config& config, std::string config_file,
               RuntimeDir runtime_dir, const Resources& resources)
    : config_(config),
      config_file_(std::move(config_file)),
      index_directory_(IndexDirectory(config.index().directory())),
      runtime_dir_(std::move(runtime_dir)),
      warnings_(resources.warnings),
      gpus_([plugin = config.cuda().plugin()] {
        return OpenGpuDriver(plugin, ProgramFolder());
      }),
      devices_(
          [this](const std::stop_token& stop) {
            return gpus_.AwaitDriver(stop);
          },
          [this](const cuda::DeviceInfo& gpu) {
            return SlotMemoryOf(config_.cuda().memory(), gpu.memory_bytes);
          },
          base::Clock::Monotonic()),
      started_at_nanos_(base::Clock::Monotonic()->NowNanos()),
      budget_(resources.memory),
      catalog_({.index_directory = index_directory_,
                .scan_threads = std::min(4 * resources.cpus, kMostScanThreads),
                .wall_clock = WallClockNanos,
                .lister = &remote_reads_,
                .budget = &budget_,
                .recent_list_nanos = Nanos(config_.index().list_seconds())}),
      executor_(resources.cpus, {.max_cpus = resources.max_cpus}),
      decompressed_reads_(&stored_, &executor_, &budget_, &read_shares_),
      gathered_reads_(&stored_, &budget_, &read_shares_),
      local_reads_(config_.storage(), &executor_, &budget_, &read_shares_),
      remote_reads_(RemoteEnvironment::OfProcess(config_), &stored_,
                    &read_shares_),
      memory_watch_(resources.user_code_memory),
      busy_at_nanos_(started_at_nanos_) {
  sources_.Add([](const storage::Root&) { return true; }, &stored_);
  sources_.Add(&storage::compressed::DecompressedSource::Leads,
               &decompressed_reads_);
  sources_.Add(&storage::gathered::GatheredSource::Leads, &gathered_reads_);
  stored_.Add(
      [](const storage::Root& root) {
        return dynamic_cast<const storage::local::LocalRoot*>(&root) != nullptr;
      },
      local_reads_.source());
  for (int i = 0; i < executor_.places(); ++i) {
    workspaces_.push_back(
        std::make_unique<pipeline::Workspace>(resources.workspace));
  }
  if (resources.workspace.larger_scratch_bytes > 0) {
    shared_workspace_ =
        std::make_unique<pipeline::SharedWorkspace>(pipeline::WorkspaceLimits{
            .max_pixels = resources.workspace.max_pixels,
            .scratch_bytes = resources.workspace.larger_scratch_bytes});
  }
  for (const std::string& warning : warnings_) spdlog::warn("{}", warning);
  spdlog::info(
      "{} workers, {} MiB of memory, {} of them for the cache, indexes in {}",
      resources.cpus, resources.memory >> 20, resources.cache >> 20,
      index_directory_);
}

// The order of the sources, from the streams down: front_ (memory or cache),
// cache_, the tier on disk, coalesced_, sources_ (decompressed, gathered or
// stored), stored_ (local files, buckets, web servers). Memory that the daemon
// needs from its start is reserved here. If the limit is too small for it, the
// daemon does not start.
absl::Status Daemon::Assemble(const Resources& resources) {
  FOREBAY_ASSIGN_OR_RETURN(
      scratch_, budget_.Reserve(resources.scratch, "decoder scratch"));
  FOREBAY_ASSIGN_OR_RETURN(
      spare_buffers_,
      budget_.Reserve(LocalReads::kBufferBytes, "buffers of reads"));
  FOREBAY_ASSIGN_OR_RETURN(
      coalesced_, storage::CoalescedSource::Create(
                      &sources_, &budget_,
                      storage::CoalescedSourceOptions::For(resources.memory)));
  disk_tier_ = std::make_unique<DiskTier>(
      config_.cache(),
      cache::disk::DiskCache::Deps{.below = coalesced_.get(),
                                   .budget = &budget_,
                                   .next_use = &next_use_registry_,
                                   .clock = base::Clock::Monotonic()});
  FOREBAY_ASSIGN_OR_RETURN(
      cache_,
      cache::Cache::Create({.capacity = resources.cache,
                            .variant_capacity = resources.variants,
                            .seed = kCacheSeed,
                            .cpus = static_cast<double>(resources.cpus)},
                           {.below = disk_tier_->source(),
                            .budget = &budget_,
                            .next_use = &next_use_registry_,
                            .clock = base::Clock::Monotonic()}));
  if (disk_tier_->shares() != nullptr) read_shares_.Add(disk_tier_->shares());
  read_shares_.Add(cache_.get());
  front_.Add([](const storage::Root&) { return true; }, cache_.get());
  front_.Add(&storage::memory::MemorySource::Leads, &memory_);
  registry_ = std::make_unique<job::Registry>(
      &catalog_,
      stream::StreamDeps{
          .source = &front_,
          .executor = &executor_,
          .workspaces = &workspaces_,
          .shared_workspace = shared_workspace_.get(),
          .budget = &budget_,
          .clock = base::Clock::Monotonic(),
          .variant_store =
              config_.cache().decoded() == "off" ? nullptr : cache_.get(),
          .answer_waiter = &answer_waiter_,
          .memory_watch = &memory_watch_,
          .next_use_registry = &next_use_registry_,
          .aside =
              [this](const std::string& key, std::function<void()> work) {
                aside_.Run({.name = key}, std::move(work));
              },
          .on_changed =
              [this](const dataset::Dataset& dataset) {
                catalog_.MarkStale(dataset);
              }},
      job::Registry::Shares{
          .reads = &read_shares_, .cpus = &executor_, .devices = &devices_});
  return absl::OkStatus();
}

// The parts end in order, from the trainers down to the sources, so that
// nothing new arrives at a part while it is waited for. If requests of trainers
// hang, Leave returns before the later steps, which would stop parts that these
// requests use.
std::string Daemon::Leave(const std::function<void(std::string)>& step) {
  step("requests of trainers");
  const std::vector<std::string> hung = sessions_->Leave(kRequestsEnd);
  step("calls of forebayctl");
  admin_.reset();
  if (!hung.empty())
    return absl::StrCat("requests of trainers (", absl::StrJoin(hung, "; "),
                        ")");
  // Closing the sessions ends the workers, which the threads may wait for.
  sessions_.reset();
  step("samples that are being made");
  executor_.Stop();
  step("copies to GPUs");
  devices_.Stop();
  step("memory that loaders left");
  const std::vector<std::string> ending = aside_.Stop(kRequestsEnd);
  if (!ending.empty()) return absl::StrJoin(ending, "; ");
  step("reads of the cache on disk");
  disk_tier_->Stop();
  step("reads of files and objects");
  return "";
}

std::vector<base::Fd> Daemon::Locks() const {
  std::vector<base::Fd> locks;
  for (const int lock : {runtime_dir_.lock(), disk_tier_->lock()}) {
    if (lock < 0) continue;
    auto duplicate = base::Duplicate(lock);
    if (duplicate.ok()) locks.push_back(*std::move(duplicate));
  }
  return locks;
}

// The executor's tasks read from sources, and reads and copies that complete
// submit tasks to the executor. Therefore the executor, the sources and the
// copies are all stopped before any of them is destroyed.
Daemon::~Daemon() {
  admin_.reset();
  // Closing the sessions ends the workers, which the threads may wait for.
  sessions_.reset();
  executor_.Stop();
  devices_.Stop();
  if (disk_tier_ != nullptr) disk_tier_->Stop();
  if (coalesced_ != nullptr) coalesced_->Stop();
  decompressed_reads_.Stop();
  gathered_reads_.Stop();
  aside_.Stop(std::chrono::hours(24));
}

absl::Status Daemon::Listen() {
  FOREBAY_ASSIGN_OR_RETURN(
      sessions_, session::Server::Create(
                     runtime_dir_.SessionSocket(), loop_.get(), registry_.get(),
                     &remote_reads_, base::Clock::Monotonic()));
  FOREBAY_ASSIGN_OR_RETURN(
      admin_, admin::AdminServer::Start(
                  runtime_dir_.AdminSocket(),
                  {.jobs = registry_.get(),
                   .control = registry_.get(),
                   .daemon = [this] { return Info(); },
                   .cache = [this] { return cache_->Snapshot(); },
                   .disk_tier = [this] { return disk_tier_->Snapshot(); },
                   .clock = base::Clock::Monotonic()}));
  FOREBAY_RETURN_IF_ERROR(loop_->Every(kNanosPerSecond, [this] { Tick(); }));
  const auto watchdog = service_manager_.watchdog_interval();
  if (watchdog.count() > 0) {
    FOREBAY_RETURN_IF_ERROR(
        loop_->Every(std::chrono::nanoseconds(watchdog).count(),
                     [this] { service_manager_.Watchdog(); }));
  }
  return absl::OkStatus();
}

absl::Status Daemon::StopWhenReadable(int fd) {
  return loop_->Add(fd, EPOLLIN, [this](std::uint32_t) { Stop(); }).status();
}

void Daemon::Run() {
  spdlog::info("forebayd {} serves {}", proto::kVersion, runtime_dir_.path());
  service_manager_.Ready();
  loop_->Run();
  sessions_->StopListening();
  admin_->StopListening();
  service_manager_.Stopping();
  spdlog::info("forebayd leaves");
}

void Daemon::Tick() {
  const std::int64_t now = base::Clock::Monotonic()->NowNanos();
  if (sessions_->sessions() > 0) busy_at_nanos_ = now;
  const double idle_seconds = config_.session().exit_when_idle_seconds();
  if (idle_seconds > 0 && now - busy_at_nanos_ >= Nanos(idle_seconds)) {
    spdlog::info("nobody has been here for {} s", idle_seconds);
    Stop();
  }
  if (devices_.lost() && sessions_->sessions() == 0) {
    spdlog::warn(
        "a GPU is lost to this process, which leaves: a new one can "
        "open it");
    failed_ = true;
    Stop();
  }
  devices_.Expire();
  sessions_->Tick();
  disk_tier_->Tick();
  const std::int64_t idle = Nanos(config_.session().idle_seconds());
  // Each kind of resource is released on a thread of its own: a job's process,
  // a file system or a GPU may block the release for long.
  sessions_->RunAside("idle memory",
                      [this, idle] { registry_->ReclaimIdle(idle); });
  sessions_->RunAside("idle indexes", [this] { catalog_.FreeIdle(); });
  sessions_->RunAside("idle disks", [this] { local_reads_.ReleaseIdle(); });
  sessions_->RunAside("idle hosts", [this] { remote_reads_.ReleaseIdle(); });
  if (!devices_.open().empty())
    sessions_->RunAside("idle GPUs",
                        [this, idle] { devices_.CloseIdle(idle); });
}

admin::DaemonInfo Daemon::Info() const {
  admin::DaemonInfo info;
  info.version = proto::kVersion;
  info.uptime_seconds =
      static_cast<double>(base::Clock::Monotonic()->NowNanos() -
                          started_at_nanos_) /
      kNanosPerSecond;
  info.runtime_dir = runtime_dir_.path();
  info.config_file = config_file_;
  info.index_directory = index_directory_;
  info.memory_limit = budget_.limit();
  info.memory_used = budget_.used();
  info.memory_slots = registry_->SlotBytes();
  info.memory_cache = cache_->capacity();
  const worker::MemorySnapshot workers = memory_watch_.snapshot();
  info.user_workers = {.count = workers.workers,
                       .memory_used = workers.used,
                       .memory_limit = workers.limit,
                       .ended = workers.ended};
  info.workers = static_cast<std::uint32_t>(executor_.cpus());
  info.workers_busy = static_cast<std::uint32_t>(executor_.busy());
  info.tasks_queued = executor_.queued();
  info.read_cpu_nanos = static_cast<std::uint64_t>(local_reads_.cpu_nanos() +
                                                   cache_->cpu_nanos());
  info.sessions = sessions_->sessions();
  info.simd_target = std::string(pipeline::VectorTarget());
  info.gpus = gpus_.inventory();
  for (const auto& device : devices_.open())
    info.gpu_uses.push_back(UseOf(*device));
  info.local_reads = {.io_uring = local_reads_.io_uring(),
                      .threads = config_.storage().local_threads(),
                      .refusal = local_reads_.refusal()};
  info.sources = remote_reads_.States();
  info.sources.emplace(info.sources.begin(), "files", local_reads_.state());
  info.bucket_credentials = remote_reads_.credentials();
  for (const storage::http::JobRequests& of : remote_reads_.requests())
    info.remote_requests.push_back(ToInfo(of));
  info.warnings = warnings_;
  if (workers.ended > 0) {
    info.warnings.push_back(absl::StrCat(
        workers.ended,
        " worker processes were ended since all had more memory than "
        "producer.memory allows: the log names their datasets"));
  }
  if (!disk_tier_->refusal().empty())
    info.warnings.push_back(disk_tier_->refusal());
  for (std::string& warning : registry_->Warnings())
    info.warnings.push_back(std::move(warning));
  return info;
}

}  // namespace forebay::daemon
