#ifndef FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_
#define FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_

#include <cstdint>

namespace forebay::client {

// An object that is told of each fork of the process. The forking thread makes
// all three calls: BeforeFork may take locks, which the other two release. The
// calls must not add or remove listeners. The registry does not own listeners.
// A fork waits for the calls, so they must be short. They have no errors.
class ForkListener {
 public:
  virtual void BeforeFork() = 0;
  virtual void AfterForkInParent() = 0;
  virtual void AfterForkInChild() = 0;

 protected:
  ~ForkListener() = default;
};

// Calls every listener of the process before and after a fork. Thread-safe.
// Does not own the listeners. A fork waits for Add, Remove and the listeners'
// locks, all of which are held briefly. Has no errors.
class ForkHandlers {
 public:
  // Registers a listener, which must stay alive until Remove.
  static void Add(ForkListener* listener);
  static void Remove(ForkListener* listener);

  // Returns the number of forks between this process and its first ancestor,
  // since the first listener was added. If the number differs from when an
  // object was made, a forked child has inherited the object.
  static std::uint64_t Forks();
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_
