#ifndef FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_
#define FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_

#include <cstdint>

namespace forebay::client {

// Is told of each fork of the process. The forking thread makes all three
// calls: BeforeFork may take locks, which the others release.
class ForkListener {
 public:
  virtual void BeforeFork() = 0;
  virtual void AfterForkInParent() = 0;
  virtual void AfterForkInChild() = 0;

 protected:
  ~ForkListener() = default;
};

// Calls every listener of the process before and after a fork. Thread-safe.
// Owns nothing. A fork waits for Add, Remove and the listeners' locks, all of
// which are held briefly.
class ForkHandlers {
 public:
  static void Add(ForkListener* listener);
  static void Remove(ForkListener* listener);

  // The number of forks, with listeners, between this process and its first
  // ancestor. An object that finds another number than before has been
  // inherited by a fork.
  static std::uint64_t Forks();
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_BASE_FORK_HANDLERS_H_
