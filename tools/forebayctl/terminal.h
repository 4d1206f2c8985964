#ifndef FOREBAY_TOOLS_FOREBAYCTL_TERMINAL_H_
#define FOREBAY_TOOLS_FOREBAYCTL_TERMINAL_H_

#include <termios.h>

#include <string>

namespace forebay::ctl {

// The terminal while a live display uses it: the alternate screen, no cursor,
// keys without echo. Destruction restores the terminal. A signal that would end
// the process becomes Event::kQuit, so that the terminal is restored in this
// case, too.
//
// Not thread-safe. The caller owns it; there is at most one. Create it before
// any thread starts, because other threads would get the signals. Only Wait
// blocks. Has no errors: if standard input is not a terminal, there are no
// keys.
class Terminal {
 public:
  // The reason why Wait returned. A key other than `q` counts as kResized, so
  // that the display is redrawn.
  enum class Event { kTimeout, kQuit, kResized };

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Replaces the text that is shown. Lines are overwritten in place, so that
  // nothing flickers.
  void Draw(const std::string& text);

  // Waits until the user presses a key, a signal comes that would end the
  // process, the window changes its size, or `seconds` have passed.
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
