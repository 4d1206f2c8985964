#include "server/storage/http/curl_multi.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/base/status.h"

namespace forebay::storage::http {
namespace {

constexpr std::int64_t kMillis = 1'000'000;
// The most events of a turn; further events wait for the next turn.
constexpr std::size_t kEvents = 256;
// The time between two nudges, and the time until curl is asked again after it
// had no memory.
constexpr std::int64_t kNudgeNanos = 50 * kMillis;
constexpr std::int64_t kRetryNanos = 10 * kMillis;

std::int64_t Now() { return base::Clock::Monotonic()->NowNanos(); }

// Starts libcurl once for the process. Returns whether that worked.
bool GlobalInit() {
  static const bool done = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return done;
}

// Returns curl's flags for epoll's events. Hangups and errors count as
// readable: curl reads, and sees the error.
int SelectedOf(std::uint32_t events) {
  int selected = 0;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
    selected |= CURL_CSELECT_IN;
  if ((events & EPOLLOUT) != 0) selected |= CURL_CSELECT_OUT;
  if ((events & EPOLLERR) != 0) selected |= CURL_CSELECT_ERR;
  return selected;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CurlMulti>> CurlMulti::Create(
    int idle_connections) {
  if (!GlobalInit()) return absl::InternalError("libcurl does not start");
  base::Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return base::ErrnoStatus(errno, "epoll");
  base::Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return base::ErrnoStatus(errno, "eventfd");
  epoll_event event = {.events = EPOLLIN, .data = {.fd = wake.get()}};
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0)
    return base::ErrnoStatus(errno, "watching an eventfd");
  CURLM* const multi = curl_multi_init();
  if (multi == nullptr)
    return absl::ResourceExhaustedError(
        "libcurl gets no memory or descriptors to start with");
  return std::unique_ptr<CurlMulti>(new CurlMulti(
      multi, idle_connections, std::move(epoll), std::move(wake)));
}

CurlMulti::CurlMulti(CURLM* multi, int idle_connections, base::Fd epoll,
                     base::Fd wake)
    : multi_(multi),
      idle_connections_(idle_connections),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)) {
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &WatchCallback);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &TimerCallback);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlMulti::~CurlMulti() { curl_multi_cleanup(multi_); }

bool CurlMulti::Add(CURL* easy) {
  if (curl_multi_add_handle(multi_, easy) != CURLM_OK) return false;
  transfers_.insert(easy);
  young_.insert(easy);
  KeepConnections();
  return true;
}

void CurlMulti::Remove(CURL* easy) {
  if (transfers_.erase(easy) == 0) return;
  young_.erase(easy);
  curl_multi_remove_handle(multi_, easy);
  KeepConnections();
}

// Curl's limit also counts the connections in use. If more connections than the
// limit are in use, curl would close each one when its transfer ends.
void CurlMulti::KeepConnections() {
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS,
                    idle_connections_ + static_cast<long>(transfers_.size()));
}

void CurlMulti::Turn(int millis) {
  std::array<epoll_event, kEvents> events;
  const int count =
      epoll_wait(epoll_.get(), events.data(), kEvents, MillisToWait(millis));
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == wake_.get()) {
      eventfd_t wakes = 0;
      eventfd_read(wake_.get(), &wakes);
      continue;
    }
    // Curl ignores a socket that it has closed meanwhile.
    curl_multi_socket_action(multi_, fd, SelectedOf(events[i].events),
                             &running);
  }
  LookAtDue();
  Nudge();
}

void CurlMulti::LookAtDue() {
  if (Now() < look_nanos_) return;
  look_nanos_ = INT64_MAX;
  int running = 0;
  // If curl has no memory, it returns before it says when to look next.
  if (curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running) !=
      CURLM_OK)
    look_nanos_ = std::min(look_nanos_, Now() + kRetryNanos);
}

// Curl 7.88 tries a host's next address only when something makes curl look at
// the transfer. There may be no socket or timer that does so. The end of a
// pause makes curl look, so each young transfer is paused for a moment.
void CurlMulti::Nudge() {
  if (young_.empty() || Now() < nudge_nanos_) return;
  nudge_nanos_ = Now() + kNudgeNanos;
  std::erase_if(young_, [](CURL* easy) {
    curl_off_t asked = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &asked);
    return asked > 0;
  });
  for (CURL* const easy : young_) {
    curl_easy_pause(easy, CURLPAUSE_SEND);
    curl_easy_pause(easy, CURLPAUSE_CONT);
  }
}

CurlMulti::Finished CurlMulti::NextFinished() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left))
    if (message->msg == CURLMSG_DONE)
      return {message->easy_handle, message->data.result};
  return {};
}

void CurlMulti::Wake() const { eventfd_write(wake_.get(), 1); }

int CurlMulti::MillisToWait(int millis) const {
  const std::int64_t next =
      young_.empty() ? look_nanos_ : std::min(look_nanos_, nudge_nanos_);
  if (next == INT64_MAX) return millis;
  // The wait is rounded up: a wake-up before the time would make the loop spin.
  const std::int64_t left = (next - Now() + kMillis - 1) / kMillis;
  return static_cast<int>(
      std::clamp<std::int64_t>(left, 0, static_cast<std::int64_t>(millis)));
}

// If a socket cannot be watched, nothing is heard from it, and its transfer
// times out.
void CurlMulti::Watch(curl_socket_t socket, int what) const {
  epoll_event event = {};
  event.data.fd = socket;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, &event);
    return;
  }
  if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
  // Curl's own view of what is watched may be out of date: epoll forgets a
  // socket when it is closed, and the next socket gets its number.
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0 &&
      errno == EEXIST)
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket, &event);
}

int CurlMulti::WatchCallback(CURL*, curl_socket_t socket, int what, void* multi,
                             void*) {
  static_cast<const CurlMulti*>(multi)->Watch(socket, what);
  return 0;
}

int CurlMulti::TimerCallback(CURLM*, long millis, void* multi) {
  static_cast<CurlMulti*>(multi)->look_nanos_ =
      millis < 0 ? INT64_MAX : Now() + millis * kMillis;
  return 0;
}

}  // namespace forebay::storage::http
