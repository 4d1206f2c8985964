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

namespace forebay::dataset {
namespace {

void AskForSpace(const std::string& path) {
  struct statvfs space;
  // A folder that is not there yet is an answer, too.
  static_cast<void>(statvfs(path.c_str(), &space));
}

}  // namespace

// Shared with the thread that asks, which may outlive the probe.
struct FolderProbe::State {
  State(std::string path, Options settings)
      : folder(std::move(path)), options(std::move(settings)) {}

  const std::string folder;
  const Options options;
  base::Mutex mutex;
  base::CondVar answered;
  bool asking ABSL_GUARDED_BY(mutex) = false;
  bool overdue ABSL_GUARDED_BY(mutex) = false;
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
    // Whoever uses the folder will see.
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
