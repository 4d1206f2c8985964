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

// The samples that were read and wait for a thread, and the number of tasks
// that were submitted for them and have not begun. A task takes several
// samples, to pay the cost of scheduling once. If threads are idle, each sample
// gets a task of its own.
//
// While samples wait, at least one task is on its way. Not thread-safe: the
// stream guards it. Owns the waiting samples. Never blocks. No errors.
class DecodeQueue {
 public:
  explicit DecodeQueue(int places) : places_(places) {}

  void Add(ReadSample sample) { samples_.push_back(std::move(sample)); }
  // Adds a sample that a task took but did not make. The sample goes first.
  void AddAgain(ReadSample sample) { samples_.push_front(std::move(sample)); }
  // Whether WantsTask would return true. Does not count a task.
  bool Wants(std::size_t task_samples) const {
    return samples_.size() > tasks_ * task_samples;
  }
  // Whether the caller is to submit one more task, which is then counted.
  // Called after Add and after Take. A task takes at most `task_samples`
  // samples.
  bool WantsTask(std::size_t task_samples);
  // Takes the first samples, perhaps none, for a task that begins and is no
  // longer counted. A sample that was lost with its worker is taken alone, so
  // that no other sample is lost with it again.
  std::vector<ReadSample> Take(std::size_t task_samples);
  // Returns the first sample for which `may` returns true, without taking it;
  // null if there is none.
  using May = absl::FunctionRef<bool(const PendingSample&)>;
  const PendingSample* Find(May may) const;
  // Returns the first sample for which `may` returns true, and counts a task
  // for it; null if there is none. When that task begins, it calls TakeOne,
  // which takes the sample.
  const PendingSample* NextTaskOf(May may);
  std::vector<ReadSample> TakeOne(May may);
  // Takes the batch's samples, for another queue.
  std::vector<ReadSample> TakeOf(const Batch& batch);

  bool empty() const { return samples_.empty(); }
  // Returns the next sample. The queue must not be empty.
  const ReadSample& front() const { return samples_.front(); }
  // Returns the number of tasks that have not begun.
  std::size_t tasks() const { return tasks_; }

 private:
  // The number of threads that samples may keep busy.
  const std::size_t places_;
  std::deque<ReadSample> samples_;
  std::size_t tasks_ = 0;
};

// A stream's decode queues, one for each set of flows that samples are charged
// to. A cap on one set thus holds up no task of another set. The contract is
// that of DecodeQueue.
class DecodeQueues {
 public:
  using Flows = std::vector<schedule::Flow>;

  explicit DecodeQueues(int places) : places_(places) {}

  void Add(const Flows& flows, ReadSample sample);
  void AddAgain(const Flows& flows, ReadSample sample);
  // Returns the flows of a queue that wants a task; nullopt if none does.
  std::optional<Flows> Wanting(std::size_t task_samples) const;
  // If the queue of these flows wants a task, counts one more task and returns
  // the queue's first sample. Otherwise returns null.
  const PendingSample* NextTask(const Flows& flows, std::size_t task_samples);
  // Takes samples from the queue of these flows (DecodeQueue::Take).
  std::vector<ReadSample> Take(const Flows& flows, std::size_t task_samples);
  // NextTaskOf and TakeOne call DecodeQueue's functions on the queue of these
  // flows. FlowsOf returns the flows of a queue that has a sample for which
  // `may` returns true; nullopt if there is none.
  const PendingSample* NextTaskOf(const Flows& flows, DecodeQueue::May may);
  std::optional<Flows> FlowsOf(DecodeQueue::May may) const;
  std::vector<ReadSample> TakeOne(const Flows& flows, DecodeQueue::May may);
  // Moves the batch's samples from one queue to another.
  void Move(const Batch& batch, const Flows& from, const Flows& to);

 private:
  DecodeQueue& At(const Flows& flows) {
    return queues_.try_emplace(flows, places_).first->second;
  }
  // Removes the queue of these flows if it is empty and awaits no task.
  void EraseIfDone(const Flows& flows);

  const int places_;
  std::map<Flows, DecodeQueue> queues_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_DECODE_QUEUE_H_
