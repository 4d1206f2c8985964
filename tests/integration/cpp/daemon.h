#ifndef FOREBAY_TESTS_INTEGRATION_CPP_DAEMON_H_
#define FOREBAY_TESTS_INTEGRATION_CPP_DAEMON_H_

#include <sys/types.h>

#include <string>

namespace cpp_user {

// Makes a folder, which only this user may read, in the folder of the test's
// run.
std::string NewFolder(const std::string& name);

// A test's forebayd, a child process with a folder of its own. For the thread
// of the tests.
class Daemon {
 public:
  // Starts the daemon, and waits until it serves.
  Daemon();
  // Ends the daemon if it runs. A check fails if its exit status is not 0.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // The directory of the daemon's socket.
  const std::string& runtime_dir() const { return runtime_dir_; }

  // Ends the daemon at once, as a crash does.
  void Kill();
  // Starts the daemon again, after Kill.
  void Start();
  // Stops the daemon until Resume.
  void Pause();
  void Resume();

 private:
  // Waits until the daemon announces on the socket `notices` that it serves.
  void AwaitReady(int notices);
  // Sends a signal, and waits for the end. Returns the status of waitpid().
  int End(int signal);

  const std::string folder_;
  const std::string runtime_dir_;
  pid_t pid_ = -1;
};

}  // namespace cpp_user

#endif  // FOREBAY_TESTS_INTEGRATION_CPP_DAEMON_H_
