#include "server/base/process.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/fd.h"

namespace forebay::base {

std::int64_t ProcessCpuNanos(pid_t pid) {
  clockid_t clock;
  struct timespec time;
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 ||
      clock_gettime(clock, &time) != 0)
    return -1;
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

bool IsProcessRunnable(pid_t pid) {
  if (pid <= 0) return false;
  const Fd stat(
      open(absl::StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text;
  const ssize_t length = read(stat.get(), text.data(), text.size());
  if (length <= 0) return false;
  // The text is "PID (NAME) STATE ..." (proc(5)). A name has at most 15 bytes,
  // but may contain parentheses. The last ")" ends the name, because the fields
  // after STATE are numbers.
  const std::string_view said(text.data(), static_cast<std::size_t>(length));
  const std::size_t end = said.rfind(") ");
  return end != std::string_view::npos && said.substr(end + 2, 1) == "R";
}

}  // namespace forebay::base
