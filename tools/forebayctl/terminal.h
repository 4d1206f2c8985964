#ifndef FOREBAY_TOOLS_FOREBAYCTL_TERMINAL_H_
#define FOREBAY_TOOLS_FOREBAYCTL_TERMINAL_H_

#include <termios.h>

#include <string>

namespace forebay::ctl {

// The terminal while a live display owns it: the alternate screen, no cursor,
// keys without echo. Destruction restores everything. Signals that would end
// the process arrive as Event::kQuit, so that it is restored then too.
//
// Not thread-safe; one at a time. To be made before any thread starts: other
// threads would get the signals. Nothing fails: if standard input is no
// terminal, there are no keys.
class Terminal {
 public:
  enum class Event { kTimeout, kQuit, kResized };

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Replaces the text that is shown, without flicker.
  void Draw(const std::string& text);

  // Blocks until the user presses `q` or Ctrl-C, a signal comes that ends a
  // process, the window changes its size, or the time is up.
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
