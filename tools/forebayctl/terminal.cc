#include "tools/forebayctl/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cmath>
#include <string>

namespace forebay::ctl {
namespace {

constexpr char kCtrlC = 3;
constexpr char kCtrlD = 4;

// Writes all of `text` to standard output, without the buffer of std::cout.
void Write(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t bytes =
        write(STDOUT_FILENO, text.data() + done, text.size() - done);
    // If the terminal was closed, the signal SIGHUP ends the display.
    if (bytes <= 0) return;
    done += static_cast<std::size_t>(bytes);
  }
}

}  // namespace

Terminal::Terminal() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) {
    sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  has_keys_ =
      isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &before_) == 0;
  Enter();
}

Terminal::~Terminal() {
  Leave();
  if (signals_ >= 0) close(signals_);
}

void Terminal::Enter() {
  if (has_keys_) {
    termios raw = before_;
    // Keys arrive at once and without echo. Without ISIG, Ctrl-C is a key, and
    // Ctrl-Z does not stop the process with the terminal in this state.
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  // Control sequences of xterm and ECMA-48: use the alternate screen (?1049h),
  // hide the cursor (?25l), clear the screen (2J). Leave undoes the first two.
  Write("\033[?1049h\033[?25l\033[2J");
  entered_ = true;
}

void Terminal::Leave() {
  if (!entered_) return;
  Write("\033[?25h\033[?1049l");
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  entered_ = false;
}

void Terminal::Draw(const std::string& text) {
  // The frame begins at the upper left corner (H). Each line ends with K, which
  // clears the rest of the line, and the frame with J, which clears all below.
  std::string frame = "\033[H";
  for (const char c : text) {
    if (c == '\n') frame += "\033[K";
    frame += c == '\n' ? "\r\n" : std::string(1, c);
  }
  Write(frame + "\033[J");
}

Terminal::Event Terminal::Wait(double seconds) {
  pollfd fds[] = {{signals_, POLLIN, 0},
                  {has_keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
  const int ready = poll(fds, 2, static_cast<int>(std::ceil(seconds * 1000)));
  if (ready <= 0) return Event::kTimeout;
  if (fds[0].revents != 0) return TakeSignal();
  return TakeKey();
}

Terminal::Event Terminal::TakeSignal() {
  signalfd_siginfo info = {};
  if (read(signals_, &info, sizeof(info)) != sizeof(info)) {
    return Event::kTimeout;
  }
  return info.ssi_signo == SIGWINCH ? Event::kResized : Event::kQuit;
}

Terminal::Event Terminal::TakeKey() {
  char key = 0;
  const ssize_t bytes = read(STDIN_FILENO, &key, 1);
  const bool quit =
      bytes <= 0 || key == 'q' || key == 'Q' || key == kCtrlC || key == kCtrlD;
  return quit ? Event::kQuit : Event::kResized;
}

}  // namespace forebay::ctl
