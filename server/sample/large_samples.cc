// Each set of payers with waiting samples has a queue, and each queue has one
// task. The task borrows the workspace, makes one sample and submits itself
// again. So the fair queue decides between payers after each sample. If the
// workspace is in use, the task ends, and the workspace calls Submit when it is
// free.
//
// The mutex guards only the queues. It is not held while a sample is made, nor
// while the executor or the workspace is called.
#include "server/sample/large_samples.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace forebay::sample {

void LargeSamples::Add(const Flows& payers, Sample sample) {
  {
    base::MutexLock lock(&mutex_);
    const auto [queue, is_new] = queues_.try_emplace(payers);
    queue->second.push_back(std::move(sample));
    // A queue that exists has its task already.
    if (!is_new) return;
  }
  Submit(payers);
}

void LargeSamples::Charge(const void* batch, const Flows& payers) {
  {
    base::MutexLock lock(&mutex_);
    Queue moved;
    for (auto& [others, queue] : queues_) {
      if (others == payers) continue;
      // The samples of other batches keep their order.
      const auto its = std::stable_partition(
          queue.begin(), queue.end(),
          [&](const Sample& sample) { return sample.batch != batch; });
      std::move(its, queue.end(), std::back_inserter(moved));
      queue.erase(its, queue.end());
    }
    if (moved.empty()) return;
    const auto [queue, is_new] = queues_.try_emplace(payers);
    std::move(moved.begin(), moved.end(), std::back_inserter(queue->second));
    if (!is_new) return;
  }
  Submit(payers);
}

void LargeSamples::Submit(const Flows& payers) {
  executor::Demand demand;
  {
    base::MutexLock lock(&mutex_);
    const auto queue = queues_.find(payers);
    if (queue->second.empty()) {
      queues_.erase(queue);
      return;
    }
    demand = queue->second.front().demand;
    demand.may_be_long = true;  // the image is large
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
  // The task makes one sample. It skips abandoned samples.
  while (auto sample = Next(payers)) {
    if (sample->make(*loan)) break;
  }
  loan.reset();
  Submit(payers);
}

std::optional<LargeSamples::Sample> LargeSamples::Next(const Flows& payers) {
  base::MutexLock lock(&mutex_);
  Queue& queue = queues_.find(payers)->second;
  if (queue.empty()) return std::nullopt;
  Sample sample = std::move(queue.front());
  queue.pop_front();
  return sample;
}

}  // namespace forebay::sample
