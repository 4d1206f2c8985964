#ifndef FOREBAY_SERVER_STREAM_BACKLOG_H_
#define FOREBAY_SERVER_STREAM_BACKLOG_H_

#include <cstddef>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "server/base/bytes.h"
#include "server/stream/batch.h"

namespace forebay::stream {

// A sample that was read.
struct ReadSample {
  Place* place = nullptr;
  base::Bytes bytes;
  bool made = false;       // or not, because nobody wants it any more
  bool too_large = false;  // for the worker's workspace
  absl::Status status;     // of making it
};

// Samples that were read and wait for a worker, and the workers' tasks that
// were asked for them. A task takes several samples, so that what it costs to
// schedule one is paid once; where workers are idle, each sample is one's own.
//
// While samples wait, a task is on its way. Not thread-safe: the stream guards
// it. Never blocks; no errors.
class Backlog {
 public:
  explicit Backlog(int workers) : workers_(workers) {}

  void Add(ReadSample sample) { samples_.push_back(std::move(sample)); }
  // To be asked after Add and after Take: whether one more task, which is then
  // counted, is to be submitted. `task_samples` is the most that one takes.
  bool WantsTask(std::size_t task_samples);
  // What a task that begins is to make: the samples that came first, perhaps
  // none.
  std::vector<ReadSample> Take(std::size_t task_samples);
  // The batch's samples, which then wait elsewhere.
  std::vector<ReadSample> TakeOf(const Batch& batch);

  bool empty() const { return samples_.empty(); }
  // What is made next, of at least one.
  const ReadSample& front() const { return samples_.front(); }
  // Tasks that have not begun.
  std::size_t tasks() const { return tasks_; }

 private:
  const std::size_t workers_;
  std::deque<ReadSample> samples_;
  std::size_t tasks_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BACKLOG_H_
