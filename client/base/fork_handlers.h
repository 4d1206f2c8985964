#ifndef FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_
#define FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_

#include <cstdint>

namespace forebay::client {

// An object whose methods are called before and after each fork of the process.
// The forking thread makes all calls. BeforeFork may take locks;
// AfterForkInParent and AfterForkInChild then release them. The methods must
// not add or remove listeners. The registry does not own listeners. A fork
// waits for the methods, so they must be short. The methods have no errors.
class ForkListener {
 public:
  virtual void BeforeFork() = 0;
  virtual void AfterForkInParent() = 0;
  virtual void AfterForkInChild() = 0;

 protected:
  ~ForkListener() = default;
};

// Calls every listener of the process before and after a fork. Thread-safe.
// Does not own the listeners. A fork waits for the listeners' locks, and for
// running calls of Add and Remove. All of these waits are short. Has no errors.
class ForkHandlers {
 public:
  // Registers a listener, which must stay alive until Remove.
  static void Add(ForkListener* listener);
  static void Remove(ForkListener* listener);

  // Returns 0 in the process that added the first listener; a forked child has
  // its parent's number plus 1. If the number has changed since an object was
  // made, this process is a forked child that has inherited the object.
  static std::uint64_t Forks();
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_
