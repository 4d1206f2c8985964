#ifndef FOREBAY_CLIENT_FORK_HANDLERS_H_
#define FOREBAY_CLIENT_FORK_HANDLERS_H_

#include <cstdint>

namespace forebay::client {

// An object that is told of each fork of the process. BeforeFork may take
// locks, which the others give back: each belongs to the same thread.
class ForkListener {
 public:
  virtual void BeforeFork() = 0;
  virtual void AfterForkInParent() = 0;
  virtual void AfterForkInChild() = 0;

 protected:
  ~ForkListener() = default;
};

// Tells every listener of the process before and after a fork. Thread-safe.
// Owns nothing. A fork waits for Add, Remove and the listeners' own locks,
// which are all held briefly.
class ForkHandlers {
 public:
  static void Add(ForkListener* listener);
  static void Remove(ForkListener* listener);

  // How often this process, or one that it was forked from, is the child of a
  // fork that listeners were told of: who finds another number than before has
  // been inherited.
  static std::uint64_t Forks();
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_FORK_HANDLERS_H_
