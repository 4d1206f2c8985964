#ifndef FOREBAY_TOOLS_FOREBAYCTL_TERMINAL_H_
#define FOREBAY_TOOLS_FOREBAYCTL_TERMINAL_H_

#include <termios.h>

#include <string>

namespace forebay::ctl {

// The terminal while a live display owns it: the alternate screen, no cursor,
// keys without echo. Destruction puts everything back; signals that would end
// the process arrive as Event::kQuit, so that it happens.
//
// Not thread-safe; one at a time; make it before any thread is started, which
// would otherwise get the signals. Nothing fails: where standard input is no
// terminal there are no keys.
class Terminal {
 public:
  enum class Event { kTimeout, kQuit, kResized };

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Replaces what is shown, without flicker.
  void Draw(const std::string& text);

  // Blocks until `q`, Ctrl-C or another signal that ends a process, the
  // window changes its size, or the time is up.
  Event Wait(double seconds);

 private:
  void Enter();
  void Leave();
  Event TakeSignal();
  Event TakeKey();

  int signals_ = -1;  // a signalfd
  bool has_keys_ = false;
  bool entered_ = false;
  termios before_ = {};
};

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_TERMINAL_H_
