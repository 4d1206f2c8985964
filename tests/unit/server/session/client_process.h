#ifndef FOREBAY_TESTS_UNIT_SERVER_SESSION_CLIENT_PROCESS_H_
#define FOREBAY_TESTS_UNIT_SERVER_SESSION_CLIENT_PROCESS_H_

#include <sys/types.h>

#include <functional>

#include "server/base/fd.h"

namespace forebay::session {

// Another process, which runs one function and then waits to be killed. A test
// must fork it before it starts any thread. Not thread-safe; blocks.
class ClientProcess {
 public:
  // Forks the child, which runs `act` once Begin() is called.
  explicit ClientProcess(const std::function<void()>& act);
  ~ClientProcess();
  ClientProcess(const ClientProcess&) = delete;
  ClientProcess& operator=(const ClientProcess&) = delete;

  void Begin();
  // Waits until the child has run its function. Returns false if the child died
  // in it.
  bool AwaitDone();
  // Kills the child, and returns once it is dead.
  void Kill();

 private:
  base::Fd channel_;
  pid_t pid_ = -1;
};

}  // namespace forebay::session

#endif  // FOREBAY_TESTS_UNIT_SERVER_SESSION_CLIENT_PROCESS_H_
