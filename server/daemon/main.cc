// The command line of forebayd, the daemon.
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/version.h"
#include "server/base/cgroup.h"
#include "server/base/fd.h"
#include "server/base/log.h"
#include "server/base/status.h"
#include "server/daemon/config.h"
#include "server/daemon/daemon.h"
#include "server/daemon/exit_deadline.h"
#include "server/daemon/heap.h"
#include "server/daemon/runtime_dir.h"
#include "server/pipeline/vector_target.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {
namespace {

// The exit codes besides 0 and 1.
constexpr int kUsage = 2;     // a bad command line
constexpr int kOccupied = 3;  // another daemon has the directory

constexpr double kLongestIdleSeconds = 604800;

// The options of the command line.
struct Flags {
  std::string runtime_dir;
  std::string config;
  double exit_when_idle = -1;
};

// The time that the daemon waits for each step of its exit, and for all steps
// together. Both are less than TimeoutStopSec of its systemd unit, after which
// systemd kills the process.
constexpr ExitDeadline::Limits kLeavingLimits = {
    .step = std::chrono::seconds(4), .all = std::chrono::seconds(8)};

// Returns a descriptor that is readable once SIGTERM or SIGINT arrives. Both
// signals are blocked here, before any thread starts. All threads inherit the
// block, so no thread is interrupted.
absl::StatusOr<base::Fd> TerminationSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  base::Fd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return base::ErrnoStatus(errno, "waiting for signals");
  return fd;
}

// Raises the limit of descriptors: a loader takes some ten, and the usual limit
// of 1024 is for programs that call select().
void RaiseDescriptorLimit() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    spdlog::warn("the limit of open files stays: {}", std::strerror(errno));
}

// Lowers protobuf's own log to debug level, except for fatal errors. Protobuf
// logs messages that it cannot read, but their senders get an error anyway.
void LogProtobuf() {
  google::protobuf::SetLogHandler([](google::protobuf::LogLevel level,
                                     const char* /*file*/, int /*line*/,
                                     const std::string& message) {
    spdlog::log(level == google::protobuf::LOGLEVEL_FATAL
                    ? spdlog::level::critical
                    : spdlog::level::debug,
                "protobuf: {}", message);
  });
}

// Returns the path as an absolute path, so that it means the same in any
// working directory. An empty path stays empty.
std::string AbsolutePath(const std::string& path) {
  std::error_code unknown_directory;
  const auto absolute = std::filesystem::absolute(path, unknown_directory);
  return path.empty() || unknown_directory ? path : absolute.string();
}

// Ends the daemon's parts step by step and destroys it. If a step hangs, the
// deadline releases the locks, so that another daemon can start, and ends the
// process without destructors.
void Leave(std::unique_ptr<Daemon> daemon, int exit_status) {
  const std::vector<base::Fd> locks = daemon->Locks();
  ExitDeadline deadline({.let_go =
                             [&locks] {
                               for (const base::Fd& lock : locks)
                                 flock(lock.get(), LOCK_UN);
                             },
                         .exit = [exit_status] { _exit(exit_status); }},
                        "its trainers", kLeavingLimits);
  const std::string hung =
      daemon->Leave([&](std::string step) { deadline.Begin(std::move(step)); });
  if (!hung.empty()) {
    deadline.Begin(hung);
    deadline.Expire();
  }
  daemon.reset();
}

// Runs the daemon until it stops. The order matters: malloc is set up and
// signals are blocked before any thread exists. The directory is locked before
// a socket in it is replaced.
absl::Status Serve(const Flags& flags) {
  proto::Config config;
  if (!flags.config.empty()) {
    FOREBAY_ASSIGN_OR_RETURN(config, ReadConfig(flags.config));
  }
  if (flags.exit_when_idle >= 0) {
    config.mutable_session()->set_exit_when_idle_seconds(flags.exit_when_idle);
  }
  SetUpHeap(base::ReadCgroupLimits().cpus);
  FOREBAY_RETURN_IF_ERROR(base::StartLog(config.log().level()));
  LogProtobuf();
  // Without SIGPIPE, a write to a socket whose peer has gone fails, instead of
  // ending the process.
  signal(SIGPIPE, SIG_IGN);
  RaiseDescriptorLimit();
  FOREBAY_RETURN_IF_ERROR(pipeline::LimitVectorTarget(config.cpu().simd()));
  FOREBAY_ASSIGN_OR_RETURN(const base::Fd signals, TerminationSignals());
  FOREBAY_ASSIGN_OR_RETURN(RuntimeDir runtime_dir,
                           RuntimeDir::Open(flags.runtime_dir));
  FOREBAY_ASSIGN_OR_RETURN(auto daemon,
                           Daemon::Create(config, AbsolutePath(flags.config),
                                          std::move(runtime_dir)));
  FOREBAY_RETURN_IF_ERROR(daemon->StopWhenReadable(signals.get()));
  daemon->Run();
  absl::Status status =
      daemon->failed() ? absl::InternalError("a GPU is lost to this process")
                       : absl::OkStatus();
  Leave(std::move(daemon), status.ok() ? EXIT_SUCCESS : EXIT_FAILURE);
  return status;
}

// Reads the command line, serves, and returns the exit code.
int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Reads, caches, decodes and augments training data once, for every "
      "training job "
      "on this machine.");
  app.footer(
      "Exit status: 1 if it cannot serve, 2 for a bad command line, 3 while "
      "another forebayd has the runtime directory.");
  app.set_version_flag("--version", std::string("forebayd ") + proto::kVersion);
  app.add_option("--runtime-dir", flags.runtime_dir,
                 "directory of the sockets (default: $FOREBAY_RUNTIME_DIR, "
                 "$RUNTIME_DIRECTORY, "
                 "$XDG_RUNTIME_DIR/forebay or /tmp/forebay-UID)");
  app.add_option("--config", flags.config,
                 "TOML file; deploy/forebayd.toml explains every key");
  app.add_option("--exit-when-idle", flags.exit_when_idle,
                 "leave after so many seconds without a session (default: as "
                 "configured; 0: never)")
      ->check([](const std::string& text) -> std::string {
        double seconds = 0;
        if (absl::SimpleAtod(text, &seconds) && seconds >= 0 &&
            seconds <= kLongestIdleSeconds)
          return "";
        return absl::StrCat(text, " is not a number from 0 to ",
                            kLongestIdleSeconds);
      });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 throws for --help too.
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "forebayd: " << error.what() << " (see forebayd --help)\n";
    return kUsage;
  }
  const absl::Status status = Serve(flags);
  if (status.ok()) return EXIT_SUCCESS;
  // The error is written directly to stderr, because the log may not have been
  // set up.
  std::cerr << (base::IsJournalListening() ? "<3>" : "")
            << "forebayd: " << status.message() << '\n';
  return absl::IsAlreadyExists(status) ? kOccupied : EXIT_FAILURE;
}

}  // namespace
}  // namespace forebay::daemon

int main(int argc, char** argv) { return forebay::daemon::Main(argc, argv); }
