#include "server/stream/large_samples.h"

#include <utility>

namespace forebay::stream {

void LargeSamples::Add(Sample sample) {
  {
    base::MutexLock lock(&mutex_);
    waiting_.push_back(std::move(sample));
    if (std::exchange(under_way_, true)) return;
  }
  Submit();
}

void LargeSamples::Submit() {
  std::vector<schedule::Flow> flows;
  executor::Demand demand;
  {
    base::MutexLock lock(&mutex_);
    flows = waiting_.front().flows;
    demand = waiting_.front().demand;
  }
  executor_->SubmitFor(flows, demand,
                       [self = shared_from_this()](int) { self->Run(); });
}

void LargeSamples::Run() {
  pipeline::SharedWorkspace::Loan loan =
      shared_->Borrow([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->Submit();
      });
  if (loan == nullptr) return;
  // What nobody wants takes no turn.
  while (!Next().make(*loan) && !empty()) {
  }
  loan.reset();
  {
    base::MutexLock lock(&mutex_);
    under_way_ = !waiting_.empty();
    if (!under_way_) return;
  }
  Submit();
}

LargeSamples::Sample LargeSamples::Next() {
  base::MutexLock lock(&mutex_);
  Sample sample = std::move(waiting_.front());
  waiting_.pop_front();
  return sample;
}

bool LargeSamples::empty() const {
  base::MutexLock lock(&mutex_);
  return waiting_.empty();
}

}  // namespace forebay::stream
