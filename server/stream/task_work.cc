#include "server/stream/task_work.h"

#include <algorithm>
#include <iterator>

#include "server/executor/executor.h"

namespace forebay::stream {
namespace {

// Removes and returns the samples from `first` on.
std::vector<ReadSample> RemoveFrom(std::vector<ReadSample>::iterator first,
                                   std::vector<ReadSample>* samples) {
  std::vector<ReadSample> removed(std::make_move_iterator(first),
                                  std::make_move_iterator(samples->end()));
  samples->erase(first, samples->end());
  return removed;
}

// Removes and returns the samples that are too large for a thread.
std::vector<ReadSample> RemoveLarge(std::vector<ReadSample>* samples) {
  return RemoveFrom(std::partition(samples->begin(), samples->end(),
                                   [](const ReadSample& sample) {
                                     return !sample.too_large;
                                   }),
                    samples);
}

}  // namespace

std::int64_t TaskWork::Make(int place, std::vector<ReadSample>* samples,
                            std::vector<ReadSample>* rest,
                            std::vector<ReadSample>* large) const {
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  const std::int64_t end = clock_->NowNanos() + executor::kLongTaskNanos;
  auto next = samples->begin();
  while (next != samples->end()) {
    maker_->Make(&*next++, WorkspaceOf(place));
    if (clock_->NowNanos() >= end) break;
  }
  *rest = RemoveFrom(next, samples);
  *large = RemoveLarge(samples);
  return base::Clock::ThreadCpu()->NowNanos() - started;
}

std::int64_t TaskWork::PutInUserBuffers(int place,
                                        std::vector<ReadSample>* samples,
                                        std::vector<ReadSample>* large) const {
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  for (ReadSample& sample : *samples)
    maker_->PutInUserBuffer(&sample, WorkspaceOf(place));
  *large = RemoveLarge(samples);
  for (ReadSample& sample : *samples) sample.bytes = {};
  return base::Clock::ThreadCpu()->NowNanos() - started;
}

std::int64_t TaskWork::TakeFromUserBuffers(
    int place, std::vector<ReadSample>* samples) const {
  const std::int64_t started = base::Clock::ThreadCpu()->NowNanos();
  for (ReadSample& sample : *samples)
    maker_->TakeFromUserBuffer(&sample, WorkspaceOf(place));
  return base::Clock::ThreadCpu()->NowNanos() - started;
}

}  // namespace forebay::stream
