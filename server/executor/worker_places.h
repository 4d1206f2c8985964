#ifndef FOREBAY_SERVER_EXECUTOR_WORKER_PLACES_H_
#define FOREBAY_SERVER_EXECUTOR_WORKER_PLACES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "server/base/check.h"

namespace forebay::executor {

// Tasks are of two kinds, by the CPU time that they take.
enum TaskKind : std::size_t { kShort, kLong };

// Counts the tasks of each kind that run, and numbers them. As many tasks of
// each kind may start as there are CPUs. Some more may run that turn out to be
// long while all places of long tasks are taken. Short tasks get the lowest
// free number, long ones the highest, so that the memory that long tasks need
// belongs to few numbers. Not thread-safe; never blocks. No errors.
class WorkerPlaces {
 public:
  explicit WorkerPlaces(int cpus)
      : most_(static_cast<std::size_t>(cpus)),
        kinds_(static_cast<std::size_t>(CountFor(cpus))) {
    FOREBAY_CHECK(cpus > 0);
  }
  // Returns the number of places for so many CPUs.
  static constexpr int CountFor(int cpus) {
    return 2 * cpus + std::max(2, cpus / 4);
  }

  // Whether a task of the kind may start.
  bool HasPlace(TaskKind kind) const { return running_[kind] < most_; }
  // Returns the number of a task that starts: 0 to CountFor() - 1.
  int Take(TaskKind kind) {
    FOREBAY_CHECK(HasPlace(kind));
    std::size_t worker = kind == kShort ? 0 : kinds_.size() - 1;
    while (kinds_[worker] != kFree) worker += kind == kShort ? 1 : -1;
    kinds_[worker] = kind == kShort ? kRunsShort : kRunsLong;
    ++running_[kind];
    return static_cast<int>(worker);
  }
  void GiveBack(int worker) {
    State& state = kinds_[static_cast<std::size_t>(worker)];
    FOREBAY_CHECK(state != kFree);
    --running_[state == kRunsShort ? kShort : kLong];
    state = kFree;
  }
  // Whether a short task that turns out to be long may go on beside others.
  bool HasPlaceForLonger() const {
    return running_[kLong] < kinds_.size() - most_;
  }
  // A short task turns out to be long. There must be a place for it.
  void MakeLong(int worker) {
    State& state = kinds_[static_cast<std::size_t>(worker)];
    FOREBAY_CHECK(state == kRunsShort && HasPlaceForLonger());
    state = kRunsLong;
    --running_[kShort];
    ++running_[kLong];
  }

  std::size_t running(TaskKind kind) const { return running_[kind]; }
  std::size_t running() const { return running_[kShort] + running_[kLong]; }

 private:
  enum State : char { kFree, kRunsShort, kRunsLong };

  const std::size_t most_;    // of a kind
  std::vector<State> kinds_;  // by number
  std::array<std::size_t, 2> running_ = {};
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_WORKER_PLACES_H_
