#include "tools/forebayctl/rates.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/forebayctl/sharing.h"

namespace forebay::ctl {
namespace {

// Rates are differences of totals in two lists, over the time between the
// lists. Jobs and loaders may begin, end and begin again between the lists.
// Each job and loader of the later list is therefore looked up in the earlier
// list. If the earlier list lacks it, or one of its totals has fallen, it is
// new and counts from zero.

// Returns the job with the same key and user in another list; null if there is
// no such job.
const proto::Job* FindJob(const proto::JobList& list, const proto::Job& job) {
  for (const proto::Job& candidate : list.jobs()) {
    if (candidate.key() == job.key() && candidate.uid() == job.uid()) {
      return &candidate;
    }
  }
  return nullptr;
}

// Returns the loader `name` of the same job in another list, by its index if
// names repeat; null if there is no such loader.
const proto::Loader* FindLoader(const proto::JobList& list,
                                const proto::Job& job, const std::string& name,
                                int index) {
  const proto::Job* candidate = FindJob(list, job);
  if (candidate == nullptr) return nullptr;
  // Names of loaders may repeat, but their order does not change. The loader at
  // the same index is therefore tried first.
  if (index < candidate->loaders_size() &&
      candidate->loaders(index).name() == name) {
    return &candidate->loaders(index);
  }
  for (const proto::Loader& loader : candidate->loaders()) {
    if (loader.name() == name) return &loader;
  }
  return nullptr;
}

// Adds a loader's work between two lists to the rates of its job.
void AddLoader(const proto::LoaderCounters& before, const proto::Loader& loader,
               double seconds, JobRates* rates) {
  const proto::LoaderCounters& after = loader.counters();
  const auto rate = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to - from) / seconds;
  };
  rates->images_per_second +=
      rate(before.samples_delivered(), after.samples_delivered());
  rates->decodes_per_second +=
      rate(before.samples_decoded(), after.samples_decoded());
  rates->bytes_read_per_second += rate(before.bytes_read(), after.bytes_read());
  rates->bytes_delivered_per_second +=
      rate(before.bytes_delivered(), after.bytes_delivered());
  if (loader.has_gpu()) {
    rates->gpu_bytes_per_second +=
        rate(before.bytes_delivered(), after.bytes_delivered());
  }
  rates->cpu_cores += rate(before.cpu_nanos(), after.cpu_nanos()) * 1e-9;
  const std::uint64_t wait_before =
      std::min(before.trainer_wait_nanos(), after.trainer_wait_nanos());
  double wait = rate(wait_before, after.trainer_wait_nanos()) * 1e-9;
  // The counter of waits grows only when a wait ends. It does not have a wait
  // that lasts from one list to the other.
  if (before.trainer_waiting() && after.trainer_waiting() &&
      before.batches_delivered() == after.batches_delivered()) {
    wait = 1;
  }
  rates->trainer_wait = std::min(1.0, rates->trainer_wait + wait);
}

// Sets the rates at which a job's bytes came from each tier and from the
// network.
void SetTraffic(const proto::Job& job_before, const proto::Job& job_after,
                double seconds, JobRates* rates) {
  const proto::ReadTraffic& before = job_before.traffic();
  const proto::ReadTraffic& after = job_after.traffic();
  // If a counter has fallen, this is a new job with the same key, which counts
  // from zero.
  const bool anew = before.memory().bytes() > after.memory().bytes() ||
                    before.shared().bytes() > after.shared().bytes() ||
                    before.disk().bytes() > after.disk().bytes() ||
                    before.source().bytes() > after.source().bytes();
  const auto rate = [&](const proto::ReadTally& from,
                        const proto::ReadTally& to) {
    return static_cast<double>(to.bytes() - (anew ? 0 : from.bytes())) /
           seconds;
  };
  rates->memory_bytes_per_second = rate(before.memory(), after.memory());
  rates->shared_bytes_per_second = rate(before.shared(), after.shared());
  rates->disk_bytes_per_second = rate(before.disk(), after.disk());
  rates->source_bytes_per_second = rate(before.source(), after.source());
  const std::uint64_t received_before = job_before.remote_requests().bytes();
  const std::uint64_t received = job_after.remote_requests().bytes();
  rates->network_bytes_per_second =
      static_cast<double>(received -
                          (received_before > received ? 0 : received_before)) /
      seconds;
}

// Returns the running loader that is the furthest behind; among equals, the
// loader that shares with the most others. Returns null if no loader runs.
const proto::Loader* FurthestBehind(const proto::Job& job) {
  const auto rank = [](const proto::Loader& loader) {
    return std::pair(loader.sharing().behind(), loader.sharing().members());
  };
  const proto::Loader* furthest = nullptr;
  for (const proto::Loader& loader : job.loaders()) {
    if (!loader.running()) continue;
    if (furthest == nullptr || rank(loader) > rank(*furthest))
      furthest = &loader;
  }
  return furthest;
}

}  // namespace

std::vector<JobRates> RatesBetween(const proto::JobList& before,
                                   const proto::JobList& after) {
  const double seconds =
      static_cast<double>(after.taken_at_nanos() - before.taken_at_nanos()) *
      1e-9;
  std::vector<JobRates> all;
  for (const proto::Job& job : after.jobs()) {
    JobRates& rates = all.emplace_back();
    rates.name = job.name();
    rates.pending = job.pending();
    if (const proto::Loader* const furthest = FurthestBehind(job))
      rates.sharing = Sharing(*furthest);
    if (seconds > 0) {
      const proto::Job* earlier = FindJob(before, job);
      SetTraffic(earlier == nullptr ? proto::Job() : *earlier, job, seconds,
                 &rates);
    }
    for (int i = 0; i < job.loaders_size(); ++i) {
      const proto::Loader& loader = job.loaders(i);
      rates.slots += loader.queues().slots();
      rates.slots_ready += loader.queues().slots_ready();
      rates.running |= loader.running();
      rates.on_gpu |= loader.has_gpu();
      if (seconds <= 0) continue;
      const proto::Loader* earlier = FindLoader(before, job, loader.name(), i);
      const bool anew =
          earlier == nullptr ||
          earlier->counters().samples_delivered() >
              loader.counters().samples_delivered() ||
          earlier->counters().bytes_delivered() >
              loader.counters().bytes_delivered() ||
          earlier->counters().samples_decoded() >
              loader.counters().samples_decoded() ||
          earlier->counters().bytes_read() > loader.counters().bytes_read() ||
          earlier->counters().cpu_nanos() > loader.counters().cpu_nanos();
      AddLoader(anew ? proto::LoaderCounters() : earlier->counters(), loader,
                seconds, &rates);
    }
  }
  return all;
}

}  // namespace forebay::ctl
