#include "server/job/job.h"

#include "absl/strings/str_cat.h"

namespace forebay::job {

double Job::Describe(std::string name, double weight) {
  base::MutexLock lock(&mutex_);
  name_ = std::move(name);
  if (!weight_is_set_) weight_ = weight;
  return weight_;
}

void Job::SetWeight(double weight) {
  base::MutexLock lock(&mutex_);
  weight_ = weight;
  weight_is_set_ = true;
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
  base::MutexLock lock(&mutex_);
  std::erase_if(loaders_,
                [](const std::weak_ptr<Loader>& l) { return l.expired(); });
  loaders_.push_back(loader);
}

std::vector<std::shared_ptr<Loader>> Job::Loaders() const {
  base::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Loader>> loaders;
  for (const std::weak_ptr<Loader>& weak : loaders_) {
    if (auto loader = weak.lock()) loaders.push_back(std::move(loader));
  }
  return loaders;
}

std::string Job::name() const {
  base::MutexLock lock(&mutex_);
  return name_;
}

bool Job::IsCalled(const std::string& name_or_key) const {
  base::MutexLock lock(&mutex_);
  return name_or_key == key_ || name_or_key == name_;
}

JobSnapshot Job::Snapshot() const {
  JobSnapshot snapshot;
  snapshot.flow = flow_;
  snapshot.key = key_;
  snapshot.uid = uid_;
  {
    base::MutexLock lock(&mutex_);
    snapshot.name = name_;
    snapshot.weight = weight_;
    for (const auto& [pid, attachments] : attached_)
      snapshot.pids.push_back(pid);
  }
  for (const std::shared_ptr<Loader>& loader : Loaders()) {
    snapshot.loaders.push_back(loader->Snapshot());
  }
  return snapshot;
}

}  // namespace forebay::job
