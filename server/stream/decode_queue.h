#ifndef FOREBAY_SERVER_STREAM_DECODE_QUEUE_H_
#define FOREBAY_SERVER_STREAM_DECODE_QUEUE_H_

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/schedule/flow.h"
#include "server/stream/batch.h"
#include "server/stream/read_sample.h"

namespace forebay::stream {

// Samples that were read and wait for a worker, and the tasks that were
// submitted for them. A task takes several samples, to pay the cost of
// scheduling once; where workers are idle, each sample gets a task of its own.
//
// While samples wait, a task is on its way. Not thread-safe: the stream guards
// it. Never blocks; no errors.
class DecodeQueue {
 public:
  explicit DecodeQueue(int workers) : workers_(workers) {}

  void Add(ReadSample sample) { samples_.push_back(std::move(sample)); }
  // Adds one that was taken before.
  void AddAgain(ReadSample sample) { samples_.push_front(std::move(sample)); }
  // Whether WantsTask would return true.
  bool Wants(std::size_t task_samples) const {
    return samples_.size() > tasks_ * task_samples;
  }
  // Whether the caller is to submit one more task, which is counted then. Call
  // it after Add and after Take. A task takes at most `task_samples`.
  bool WantsTask(std::size_t task_samples);
  // The samples for a task that begins: the first ones, perhaps none. One that
  // was lost with its producer comes alone: others are not to share its fate.
  std::vector<ReadSample> Take(std::size_t task_samples);
  // Some sample that `may` returns true for, the first one, which stays; null
  // if there is none.
  using May = absl::FunctionRef<bool(const PendingSample&)>;
  const PendingSample* Find(May may) const;
  // As WantsTask and Take, for a task of the first sample that `may` go.
  const PendingSample* NextTaskOf(May may);
  std::vector<ReadSample> TakeOne(May may);
  // Removes the batch's samples, for another queue.
  std::vector<ReadSample> TakeOf(const Batch& batch);

  bool empty() const { return samples_.empty(); }
  // The next sample. The queue must not be empty.
  const ReadSample& front() const { return samples_.front(); }
  // Tasks that have not begun.
  std::size_t tasks() const { return tasks_; }

 private:
  const std::size_t workers_;
  std::deque<ReadSample> samples_;
  std::size_t tasks_ = 0;
};

// A stream's decode queues, one for each set of flows that samples are charged
// to, so that a cap holds up no other's tasks. Rules as DecodeQueue's.
class DecodeQueues {
 public:
  using Flows = std::vector<schedule::Flow>;

  explicit DecodeQueues(int workers) : workers_(workers) {}

  void Add(const Flows& flows, ReadSample sample);
  void AddAgain(const Flows& flows, ReadSample sample);
  // The flows of a queue that NextTask would return a sample of, if there is
  // one.
  std::optional<Flows> Wanting(std::size_t task_samples) const;
  // If the queue wants one more task, counts it and returns the sample that it
  // would take first; else null.
  const PendingSample* NextTask(const Flows& flows, std::size_t task_samples);
  // As DecodeQueue::Take.
  std::vector<ReadSample> Take(const Flows& flows, std::size_t task_samples);
  // As DecodeQueue's, of the queue of these flows, or of any.
  const PendingSample* NextTaskOf(const Flows& flows, DecodeQueue::May may);
  std::optional<Flows> FlowsOf(DecodeQueue::May may) const;
  std::vector<ReadSample> TakeOne(const Flows& flows, DecodeQueue::May may);
  // Moves the batch's samples from one queue to another.
  void Move(const Batch& batch, const Flows& from, const Flows& to);

 private:
  DecodeQueue& At(const Flows& flows) {
    return queues_.try_emplace(flows, workers_).first->second;
  }
  void EraseIfDone(const Flows& flows);

  const int workers_;
  std::map<Flows, DecodeQueue> queues_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_DECODE_QUEUE_H_
