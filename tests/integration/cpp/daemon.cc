#include "tests/integration/cpp/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/temp_dir.h"
#include "tests/unit/server/admin/tsan_suppressions.h"

namespace cpp_user {
namespace {

constexpr char kProgram[] = "server/daemon/forebayd";
constexpr int kPatienceMillis = 60'000;

// A socket on which a daemon announces that it serves. The environment variable
// `variable`, NAME=VALUE, names the socket to the daemon.
struct Notices {
  int socket = -1;
  std::string variable;
};

// Opens the socket. The kernel chooses an abstract name, because a path might
// be too long for a socket.
Notices Listen() {
  Notices notices;
  notices.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  REQUIRE(notices.socket >= 0);
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  REQUIRE(bind(notices.socket, address, sizeof name.sun_family) == 0);
  socklen_t length = sizeof name;
  REQUIRE(getsockname(notices.socket, address, &length) == 0);
  notices.variable = "NOTIFY_SOCKET=@" +
                     std::string(name.sun_path + 1,
                                 length - offsetof(sockaddr_un, sun_path) - 1);
  return notices;
}

// Returns the environment of this process, without variables that would change
// a daemon.
std::vector<std::string> Environment(const Notices& notices,
                                     const std::string& folder) {
  const std::string suppressions = folder + "/suppressions";
  std::ofstream(suppressions) << TsanSuppressions();
  std::vector<std::string> all = {notices.variable, "XDG_CACHE_HOME=" + folder,
                                  "TSAN_OPTIONS=suppressions=" + suppressions};
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (variable.rfind("NOTIFY_SOCKET=", 0) != 0 &&
        variable.rfind("XDG_", 0) != 0 &&
        variable.rfind("TSAN_OPTIONS=", 0) != 0 &&
        variable.rfind("FOREBAY_", 0) != 0)
      all.emplace_back(variable);
  }
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string Content(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

}  // namespace

std::string NewFolder(const std::string& name) {
  std::string path =
      std::filesystem::absolute(forebay::tests::TempDir() + name + "-XXXXXX");
  REQUIRE(mkdtemp(path.data()) != nullptr);
  return path;
}

Daemon::Daemon()
    : folder_(NewFolder("daemon")), runtime_dir_(folder_ + "/run") {
  Start();
}

Daemon::~Daemon() {
  if (pid_ > 0) {
    Resume();
    const int status = End(SIGTERM);
    INFO(Content(folder_ + "/log"));
    CHECK(status == 0);
  }
  std::filesystem::remove_all(folder_);
}

void Daemon::Start() {
  const Notices notices = Listen();
  std::string program = std::filesystem::absolute(kProgram);
  // The path is relative, because paths of sockets must be short.
  std::vector<std::string> words = {program, "--runtime-dir", "run",
                                    "--exit-when-idle", "120"};
  std::vector<std::string> variables = Environment(notices, folder_);
  const std::string log = folder_ + "/log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder_.c_str());
  const int error =
      posix_spawn(&pid_, program.c_str(), &actions, nullptr,
                  Pointers(words).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(error == 0);
  AwaitReady(notices.socket);
  close(notices.socket);
}

void Daemon::AwaitReady(int notices) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  REQUIRE(process >= 0);
  std::string notice;
  while (notice.find("READY=1") == std::string::npos) {
    pollfd waiting[] = {{notices, POLLIN, 0}, {process, POLLIN, 0}};
    const int ready = poll(waiting, 2, kPatienceMillis);
    INFO(Content(folder_ + "/log"));
    REQUIRE(ready > 0);
    // A pidfd is readable only when the process has ended.
    REQUIRE(waiting[1].revents == 0);
    char bytes[4096];
    const ssize_t got = recv(notices, bytes, sizeof bytes, 0);
    REQUIRE(got >= 0);
    notice.assign(bytes, static_cast<size_t>(got));
  }
  close(process);
}

int Daemon::End(int signal) {
  kill(pid_, signal);
  int status = -1;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

void Daemon::Kill() {
  REQUIRE(pid_ > 0);
  End(SIGKILL);
}

void Daemon::Pause() {
  REQUIRE(kill(pid_, SIGSTOP) == 0);
  // The process stops only some time after the signal.
  siginfo_t stopped = {};
  REQUIRE(waitid(P_PID, static_cast<id_t>(pid_), &stopped,
                 WSTOPPED | WNOWAIT) == 0);
}

void Daemon::Resume() { kill(pid_, SIGCONT); }

}  // namespace cpp_user
