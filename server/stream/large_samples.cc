#include "server/stream/large_samples.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace forebay::stream {

void LargeSamples::Add(const Flows& payers, Sample sample) {
  {
    base::MutexLock lock(&mutex_);
    const auto [line, is_new] = lines_.try_emplace(payers);
    line->second.push_back(std::move(sample));
    if (!is_new) return;
  }
  Submit(payers);
}

void LargeSamples::Charge(const void* batch, const Flows& payers) {
  {
    base::MutexLock lock(&mutex_);
    Line moved;
    for (auto& [others, line] : lines_) {
      if (others == payers) continue;
      const auto its = std::stable_partition(
          line.begin(), line.end(),
          [&](const Sample& sample) { return sample.batch != batch; });
      std::move(its, line.end(), std::back_inserter(moved));
      line.erase(its, line.end());
    }
    if (moved.empty()) return;
    const auto [line, is_new] = lines_.try_emplace(payers);
    std::move(moved.begin(), moved.end(), std::back_inserter(line->second));
    if (!is_new) return;
  }
  Submit(payers);
}

void LargeSamples::Submit(const Flows& payers) {
  executor::Demand demand;
  {
    base::MutexLock lock(&mutex_);
    const auto line = lines_.find(payers);
    if (line->second.empty()) {
      lines_.erase(line);
      return;
    }
    demand = line->second.front().demand;
  }
  executor_->SubmitFor(
      payers, demand,
      [self = shared_from_this(), payers](int) { self->Run(payers); });
}

void LargeSamples::Run(const Flows& payers) {
  pipeline::SharedWorkspace::Loan loan =
      shared_->Borrow([weak = weak_from_this(), payers] {
        if (const auto self = weak.lock()) self->Submit(payers);
      });
  if (loan == nullptr) return;
  // Abandoned samples take no turn.
  while (auto sample = Next(payers)) {
    if (sample->make(*loan)) break;
  }
  loan.reset();
  Submit(payers);
}

std::optional<LargeSamples::Sample> LargeSamples::Next(const Flows& payers) {
  base::MutexLock lock(&mutex_);
  Line& line = lines_.find(payers)->second;
  if (line.empty()) return std::nullopt;
  Sample sample = std::move(line.front());
  line.pop_front();
  return sample;
}

}  // namespace forebay::stream
