#include "server/job/job.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace forebay::job {
namespace {

constexpr double kNoCap = std::numeric_limits<double>::infinity();

}  // namespace

double Job::Describe(std::string name, double weight) {
  base::MutexLock lock(&mutex_);
  name_ = std::move(name);
  weight_ = weight;
  return changes_.weight.value_or(weight_);
}

void Job::Change(const JobChange& change) {
  base::MutexLock lock(&mutex_);
  if (change.weight.has_value()) changes_.weight = change.weight;
  if (change.max_read.has_value()) changes_.max_read = change.max_read;
  if (change.max_cpus.has_value()) changes_.max_cpus = change.max_cpus;
}

bool Job::IsCapped() const {
  base::MutexLock lock(&mutex_);
  return std::isfinite(changes_.max_read.value_or(kNoCap)) ||
         std::isfinite(changes_.max_cpus.value_or(kNoCap));
}

// The loaders are told without `mutex_` held, because they take locks of the
// stream. A second mutex keeps two calls from telling them in the wrong order.
void Job::TellCapped() {
  base::MutexLock lock(&telling_);
  for (const std::shared_ptr<Loader>& loader : Loaders())
    loader->SetCapped(IsCapped());
}

void Job::AddProcess(std::uint32_t pid) {
  base::MutexLock lock(&mutex_);
  ++attached_[pid];
}

bool Job::RemoveProcess(std::uint32_t pid) {
  base::MutexLock lock(&mutex_);
  if (--attached_[pid] == 0) attached_.erase(pid);
  return attached_.empty();
}

std::string Job::NextLoaderName() {
  base::MutexLock lock(&mutex_);
  return absl::StrCat("loader ", ++loaders_named_);
}

void Job::AddLoader(const std::shared_ptr<Loader>& loader) {
  {
    base::MutexLock lock(&mutex_);
    std::erase_if(loaders_,
                  [](const std::weak_ptr<Loader>& l) { return l.expired(); });
    loaders_.push_back(loader);
  }
  TellCapped();
}

std::vector<std::shared_ptr<Loader>> Job::Loaders() const {
  base::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Loader>> loaders;
  for (const std::weak_ptr<Loader>& weak : loaders_) {
    if (auto loader = weak.lock()) loaders.push_back(std::move(loader));
  }
  return loaders;
}

std::uint64_t Job::AddPending(PendingRequest request) {
  base::MutexLock lock(&mutex_);
  pending_.emplace(++last_pending_, std::move(request));
  return last_pending_;
}

void Job::DescribePending(std::uint64_t number, std::string uri,
                          std::string host) {
  base::MutexLock lock(&mutex_);
  const auto found = pending_.find(number);
  if (found == pending_.end()) return;
  found->second.uri = std::move(uri);
  found->second.host = std::move(host);
}

void Job::RemovePending(std::uint64_t number) {
  base::MutexLock lock(&mutex_);
  pending_.erase(number);
}

std::string Job::name() const {
  base::MutexLock lock(&mutex_);
  return name_;
}

JobSnapshot Job::Snapshot() const {
  JobSnapshot snapshot;
  snapshot.id = id_;
  snapshot.key = key_;
  snapshot.uid = uid_;
  {
    base::MutexLock lock(&mutex_);
    snapshot.name = name_;
    snapshot.weight = changes_.weight.value_or(weight_);
    snapshot.max_read = changes_.max_read.value_or(snapshot.max_read);
    snapshot.max_cpus = changes_.max_cpus.value_or(snapshot.max_cpus);
    for (const auto& [pid, attachments] : attached_)
      snapshot.pids.push_back(pid);
    for (const auto& [number, request] : pending_)
      snapshot.pending.push_back(request);
  }
  for (const std::shared_ptr<Loader>& loader : Loaders()) {
    snapshot.loaders.push_back(loader->Snapshot());
  }
  return snapshot;
}

}  // namespace forebay::job
