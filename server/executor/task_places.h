#ifndef FOREBAY_SERVER_EXECUTOR_TASK_PLACES_H_
#define FOREBAY_SERVER_EXECUTOR_TASK_PLACES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "server/base/check.h"

namespace forebay::executor {

// The two kinds of task, by the CPU time that they take (kLongTaskNanos). Their
// values index arrays.
enum TaskKind : std::size_t { kShort, kLong };

// Counts the running tasks of each kind, and gives each task its place: a
// number that no other running task has. For each kind, at most as many tasks
// may start as there are CPUs. Another max(2, cpus / 4) places are for short
// tasks that turn out to be long while all places of long tasks are taken.
//
// Short tasks get the lowest free place and long tasks the highest. Threads'
// memory is kept by place, so the large buffers of long tasks stay with few
// places.
//
// Not thread-safe: the caller locks. Owns its counts. Never blocks. No errors.
class TaskPlaces {
 public:
  explicit TaskPlaces(int cpus)
      : most_(static_cast<std::size_t>(cpus)),
        kinds_(static_cast<std::size_t>(CountFor(cpus))) {
    FOREBAY_CHECK(cpus > 0);
  }
  // Returns the number of places for `cpus` CPUs: one per CPU and kind, and
  // some for tasks that turn out to be long.
  static constexpr int CountFor(int cpus) {
    return 2 * cpus + std::max(2, cpus / 4);
  }

  // Whether another task of this kind may start.
  bool HasPlace(TaskKind kind) const { return running_[kind] < most_; }
  // Returns the place of a task that starts now: 0 to CountFor() - 1. HasPlace
  // must hold.
  int Take(TaskKind kind) {
    FOREBAY_CHECK(HasPlace(kind));
    std::size_t place = kind == kShort ? 0 : kinds_.size() - 1;
    while (kinds_[place] != kFree) place += kind == kShort ? 1 : -1;
    kinds_[place] = kind == kShort ? kRunsShort : kRunsLong;
    ++running_[kind];
    return static_cast<int>(place);
  }
  // Frees the place of a task that has ended.
  void GiveBack(int place) {
    State& state = kinds_[static_cast<std::size_t>(place)];
    FOREBAY_CHECK(state != kFree);
    --running_[state == kRunsShort ? kShort : kLong];
    state = kFree;
  }
  // Whether one more short task may become long: a place for it is left.
  bool HasPlaceForLonger() const {
    return running_[kLong] < kinds_.size() - most_;
  }
  // Counts the short task at `place` among the long ones. HasPlaceForLonger
  // must hold.
  void MakeLong(int place) {
    State& state = kinds_[static_cast<std::size_t>(place)];
    FOREBAY_CHECK(state == kRunsShort && HasPlaceForLonger());
    state = kRunsLong;
    --running_[kShort];
    ++running_[kLong];
  }

  std::size_t running(TaskKind kind) const { return running_[kind]; }
  std::size_t running() const { return running_[kShort] + running_[kLong]; }

 private:
  enum State : char { kFree, kRunsShort, kRunsLong };

  // The most tasks of each kind that may start: the number of CPUs.
  const std::size_t most_;
  // The kind of the task at each place.
  std::vector<State> kinds_;
  std::array<std::size_t, 2> running_ = {};
};

}  // namespace forebay::executor

#endif  // FOREBAY_SERVER_EXECUTOR_TASK_PLACES_H_
