#include "server/storage/all_job_shares.h"

namespace forebay::storage {

void AllJobShares::Add(schedule::JobShares* shares) {
  base::MutexLock lock(&mutex_);
  for (const auto& [job, weight] : weights_) shares->SetWeight(job, weight);
  for (const auto& [job, cap] : caps_) shares->SetCap(job, cap);
  all_.push_back(shares);
}

void AllJobShares::Remove(schedule::JobShares* shares) {
  base::MutexLock lock(&mutex_);
  std::erase(all_, shares);
}

void AllJobShares::SetWeight(schedule::Flow job, double weight) {
  base::MutexLock lock(&mutex_);
  weights_[job] = weight;
  for (schedule::JobShares* const shares : all_) shares->SetWeight(job, weight);
}

void AllJobShares::SetCap(schedule::Flow job, double bytes_per_second) {
  base::MutexLock lock(&mutex_);
  caps_[job] = bytes_per_second;
  for (schedule::JobShares* const shares : all_)
    shares->SetCap(job, bytes_per_second);
}

void AllJobShares::Forget(schedule::Flow job) {
  base::MutexLock lock(&mutex_);
  weights_.erase(job);
  caps_.erase(job);
  for (schedule::JobShares* const shares : all_) shares->Forget(job);
}

}  // namespace forebay::storage
