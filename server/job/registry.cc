#include "server/job/registry.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/job/spec.h"

namespace forebay::job {

absl::StatusOr<std::unique_ptr<Attachment>> Registry::Attach(
    const proto::JobIdentity& identity, std::uint32_t uid, std::uint32_t pid) {
  FOREBAY_RETURN_IF_ERROR(CheckIdentity(identity));
  const double weight = identity.weight() == 0 ? 1 : identity.weight();
  base::MutexLock lock(&mutex_);
  std::shared_ptr<Job>& job = jobs_[{uid, identity.key()}];
  if (job == nullptr)
    job = std::make_shared<Job>(++last_id_, uid, identity.key());
  ApplyWeight(*job, job->Describe(identity.name().empty() ? identity.key()
                                                          : identity.name(),
                                  weight));
  job->AddProcess(pid);
  return std::make_unique<Attachment>(
      job, pid, &opener_, [this, job, pid] { Detach(job, pid); },
      [this, job] { End(job); });
}

void Registry::Detach(const std::shared_ptr<Job>& job, std::uint32_t pid) {
  base::MutexLock lock(&mutex_);
  if (!job->RemoveProcess(pid)) return;
  ForgetShares(job->id());
  jobs_.erase({job->uid(), job->key()});
}

// A job that still exists keeps its shares, because another process is attached
// to it. A new job of the same key has another number, and shares of its own.
void Registry::End(const std::shared_ptr<Job>& job) {
  base::MutexLock lock(&mutex_);
  const auto found = jobs_.find({job->uid(), job->key()});
  if (found == jobs_.end() || found->second != job) ForgetShares(job->id());
}

void Registry::ForgetShares(JobId job) {
  shares_.cpus->Forget(job);
  shares_.reads->Forget(job);
  if (shares_.devices != nullptr) shares_.devices->Forget(job);
}

std::vector<std::shared_ptr<Job>> Registry::Jobs() const {
  base::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Job>> jobs;
  for (const auto& [key, job] : jobs_) jobs.push_back(job);
  return jobs;
}

void Registry::ApplyWeight(const Job& job, double weight) {
  shares_.cpus->SetWeight(job.id(), weight);
  shares_.reads->SetWeight(job.id(), weight);
  if (shares_.devices != nullptr) shares_.devices->SetWeight(job.id(), weight);
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
    return absl::FailedPreconditionError(absl::StrCat(
        "several jobs are called \"", job, "\": name one by its key"));
  }
  std::sort(seen.begin(), seen.end());
  return absl::NotFoundError(absl::StrCat(
      "no job is called \"", job, "\"",
      seen.empty() ? ": there is none"
                   : absl::StrCat("; there is: ", absl::StrJoin(seen, ", "))));
}

absl::Status Registry::Change(const std::string& job, const JobChange& change) {
  FOREBAY_RETURN_IF_ERROR(CheckChange(change));
  std::shared_ptr<Job> found;
  {
    // The mutex is held throughout, so that the job does not end before its
    // weight and caps are set. Shares that are set after the job's end would
    // never be removed.
    base::MutexLock lock(&mutex_);
    FOREBAY_ASSIGN_OR_RETURN(found, FindLocked(job));
    found->Change(change);
    if (change.weight.has_value()) ApplyWeight(*found, *change.weight);
    if (change.max_read.has_value())
      shares_.reads->SetCap(found->id(), *change.max_read);
    if (change.max_cpus.has_value())
      shares_.cpus->SetCap(found->id(), *change.max_cpus);
  }
  found->TellCapped();
  return absl::OkStatus();
}

void Registry::ReclaimIdle(std::int64_t idle_nanos) {
  for (const std::shared_ptr<Job>& job : Jobs()) {
    for (const std::shared_ptr<Loader>& loader : job->Loaders()) {
      loader->ReleaseIdleMemory(idle_nanos);
    }
  }
}

// Loaders that share a stream share its slots, so each stream counts once.
std::uint64_t Registry::SlotBytes() const {
  std::uint64_t bytes = 0;
  std::set<const stream::Stream*> counted;
  for (const std::shared_ptr<Job>& job : Jobs()) {
    for (const std::shared_ptr<Loader>& loader : job->Loaders()) {
      if (counted.insert(loader->stream()).second)
        bytes += loader->slot_size().host * loader->Snapshot().stream.slots;
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

// The copy is made without the mutex, because a batch may be large.
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
    if (loader.empty() ? l->Snapshot().running() : l->name() == loader)
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
