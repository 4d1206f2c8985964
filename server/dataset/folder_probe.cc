#include "server/dataset/folder_probe.h"

#include <sys/statvfs.h>

#include <cstdint>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/base/start_thread.h"

// If the server of a network file system is gone, a system call may never
// return, and no signal ends it. So the question is asked on a thread of its
// own, and the caller waits at most as long as `patience` says. While this
// thread hangs, further checks fail at once; they do not start more threads.

namespace forebay::dataset {
namespace {

// Asks the file system for its free space, by statvfs.
void AskForSpace(const std::string& path) {
  struct statvfs space;
  // The error of a missing folder is an answer, too.
  static_cast<void>(statvfs(path.c_str(), &space));
}

}  // namespace

// The state that the probe shares with the thread that asks. The thread may
// outlive the probe.
struct FolderProbe::State {
  State(std::string path, Options settings)
      : folder(std::move(path)), options(std::move(settings)) {}

  const std::string folder;
  const Options options;
  base::Mutex mutex;
  base::CondVar answered;
  bool asking ABSL_GUARDED_BY(mutex) = false;   // a thread is asking
  bool overdue ABSL_GUARDED_BY(mutex) = false;  // its answer is late
};

FolderProbe::FolderProbe(std::string folder)
    : FolderProbe(std::move(folder), {.ask = AskForSpace}) {}

FolderProbe::FolderProbe(std::string folder, Options options)
    : state_(std::make_shared<State>(std::move(folder), std::move(options))) {}

absl::Status FolderProbe::Check() const {
  State& state = *state_;
  const base::Clock& clock = *base::Clock::Monotonic();
  const std::int64_t end = clock.NowNanos() + state.options.patience.count();
  base::MutexLock lock(&state.mutex);
  if (!state.asking) {
    std::thread thread = base::StartThread([shared = state_] {
      shared->options.ask(shared->folder);
      base::MutexLock done(&shared->mutex);
      shared->asking = false;
      shared->overdue = false;
      shared->answered.NotifyAll();
    });
    // If no thread can be started, the folder is assumed to answer.
    if (!thread.joinable()) return absl::OkStatus();
    thread.detach();
    state.asking = true;
  }
  while (state.asking && !state.overdue) {
    const std::chrono::nanoseconds left(end - clock.NowNanos());
    if (left.count() > 0 && state.answered.WaitFor(&state.mutex, left))
      continue;
    state.overdue = state.asking;
  }
  if (!state.asking) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(state.folder, ": its file system does not answer"));
}

}  // namespace forebay::dataset
