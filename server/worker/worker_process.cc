#include "server/worker/worker_process.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace forebay::worker {
namespace {

constexpr std::uint64_t kKib = 1024;

// Returns the text of a file of /proc, from its beginning; empty if the process
// is gone.
std::string Read(const base::Fd& file) {
  std::string text(8192, '\0');
  const ssize_t length = pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return text;
}

// Returns the number that follows "\nNAME:"; nullopt if there is none.
std::optional<std::int64_t> NumberOf(std::string_view name,
                                     std::string_view text) {
  std::size_t at = text.find(
      absl::StrCat("\n", absl::string_view(name.data(), name.size()), ":"));
  if (at == std::string_view::npos) return std::nullopt;
  at = text.find_first_not_of(" \t", at + name.size() + 2);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits =
      text.substr(at, text.find_first_of(" \n", at) - at);
  std::int64_t number;
  if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()),
                        &number))
    return std::nullopt;
  return number;
}

// Returns the sum, in bytes, of the kB values of two lines. The line `other`
// may be missing; without the line `name`, returns nullopt.
std::optional<std::uint64_t> SumOfKib(std::string_view name,
                                      std::string_view other,
                                      const std::string& text) {
  const auto first = NumberOf(name, text);
  if (!first.has_value() || *first < 0) return std::nullopt;
  const std::int64_t second =
      std::max<std::int64_t>(0, NumberOf(other, text).value_or(0));
  return static_cast<std::uint64_t>(*first + second) * kKib;
}

// Opens a file of /proc/PID.
base::Fd OpenOf(pid_t pid, std::string_view name) {
  const std::string path = absl::StrCat(
      "/proc/", pid, "/", absl::string_view(name.data(), name.size()));
  return base::Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// Returns the id of the process to which a pidfd refers. Returns 0 if the
// process is not visible or the descriptor is not a pidfd, and -1 if the
// process is gone.
pid_t PidOf(const base::Fd& pidfd) {
  if (!pidfd) return 0;
  // Only the fdinfo of a pidfd has the line "Pid" (pidfd_open(2)).
  const base::Fd info(
      open(absl::StrCat("/proc/self/fdinfo/", pidfd.get()).c_str(),
           O_RDONLY | O_CLOEXEC));
  return static_cast<pid_t>(NumberOf("Pid", Read(info)).value_or(0));
}

class OpenedProcess final : public Process {
 public:
  OpenedProcess(base::Fd pidfd, pid_t pid, base::Fd status)
      : pidfd_(std::move(pidfd)),
        pid_(pid),
        status_(std::move(status)),
        schedstat_(OpenOf(pid, "schedstat")) {}

  pid_t pid() const override { return pid_; }
  int fd() const override { return pidfd_.get(); }
  bool IsStopped() const override {
    return absl::StrContains(Read(status_), "\nState:\tT");
  }
  std::optional<std::int64_t> RunQueueNanos() const override {
    // The file has "CPU-NANOS RUN-QUEUE-NANOS TIMESLICES".
    const std::vector<std::string> numbers =
        absl::StrSplit(Read(schedstat_), ' ');
    std::int64_t nanos;
    if (numbers.size() < 3 || !absl::SimpleAtoi(numbers[1], &nanos))
      return std::nullopt;
    return nanos;
  }
  std::optional<std::uint64_t> AnonymousBytes() override {
    return SumOfKib("RssAnon", "VmSwap", Read(status_));
  }
  // Private_Dirty has the pages that the process has written and shares with
  // nobody. SwapPss has the process's swapped pages; each counts as its size
  // divided by the number of processes that share it. The kernel does not tell
  // which swapped pages are shared. Without SwapPss, a worker whose memory is
  // swapped would evade the limit.
  std::optional<std::uint64_t> PrivateBytes() override {
    if (!rollup_) rollup_ = OpenOf(pid_, "smaps_rollup");
    return SumOfKib("Private_Dirty", "SwapPss", Read(rollup_));
  }
  bool Kill() override {
    return syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0) ==
               0 ||
           errno == ESRCH;
  }

 private:
  const base::Fd pidfd_;
  const pid_t pid_;
  // An open file of /proc belongs to its process for good. Once the process is
  // gone, the file reads as empty, even if another process gets the same
  // number.
  const base::Fd status_;
  const base::Fd schedstat_;
  base::Fd rollup_;
};

}  // namespace

std::unique_ptr<Process> OpenProcess(base::Fd pidfd, pid_t parent) {
  const pid_t pid = PidOf(pidfd);
  if (pid <= 0 || parent <= 0) return nullptr;
  base::Fd status = OpenOf(pid, "status");
  if (NumberOf("PPid", Read(status)) != parent) return nullptr;
  return std::make_unique<OpenedProcess>(std::move(pidfd), pid,
                                         std::move(status));
}

std::unique_ptr<Process> OpenOwnProcess(base::Fd pidfd, pid_t pid) {
  if (pid <= 0 || PidOf(pidfd) != pid) return nullptr;
  return std::make_unique<OpenedProcess>(std::move(pidfd), pid,
                                         OpenOf(pid, "status"));
}

}  // namespace forebay::worker
