#ifndef FOREBAY_CLIENT_FORK_HANDLERS_H_
#define FOREBAY_CLIENT_FORK_HANDLERS_H_

namespace forebay::client {

class Link;

// Tells every link of the process before and after a fork. Thread-safe. Owns
// nothing. A fork waits for Add, Remove and the links' own locks, which are all
// held briefly.
class ForkHandlers {
 public:
  static void Add(Link* link);
  static void Remove(Link* link);
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_FORK_HANDLERS_H_
