#ifndef FOREBAY_CLIENT_FORK_HANDLERS_H_
#define FOREBAY_CLIENT_FORK_HANDLERS_H_

#include <cstdint>

namespace forebay::client {

class Link;

// Tells every link of the process before and after a fork. Thread-safe. Owns
// nothing. A fork waits for Add, Remove and the links' own locks, which are all
// held briefly.
class ForkHandlers {
 public:
  static void Add(Link* link);
  static void Remove(Link* link);

  // How often this process, or one that it was forked from, is the child of a
  // fork that links were told of: who finds another number than before has been
  // inherited.
  static std::uint64_t Forks();
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_FORK_HANDLERS_H_
