#ifndef FOREBAY_SERVER_STORAGE_HTTP_CURL_MULTI_H_
#define FOREBAY_SERVER_STORAGE_HTTP_CURL_MULTI_H_

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::storage::http {

// Curl's transfers, whose sockets epoll watches. So watching one of them costs
// the same however many there are.
//
// One thread calls all but Wake, which any thread may call. The caller owns the
// transfers' handles, and removes them before it ends one or this. Without
// CURLOPT_QUICK_EXIT, Remove waits for names that are being resolved. Else only
// Turn blocks. The process does not fork: curl closes some sockets before
// it takes leave of them, and epoll would go on telling of a child's copy.
// Errors: Create (INTERNAL, RESOURCE_EXHAUSTED); those of transfers are in
// Finished.
class CurlMulti {
 public:
  struct Finished {
    CURL* easy = nullptr;  // nullptr: no other has finished
    CURLcode code = CURLE_OK;
  };

  // Keeps about `kept_connections` open that wait for their next request,
  // besides those that are in use.
  static absl::StatusOr<std::unique_ptr<CurlMulti>> Create(
      int kept_connections);
  ~CurlMulti();
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  // Begins a transfer at the next Turn. False: no memory.
  bool Add(CURL* easy);
  // Drops a transfer that was added, if this was.
  void Remove(CURL* easy);

  // Waits until a transfer can go on or Wake is called, at most so long, and
  // has curl go on with what can.
  void Turn(int millis);

  // Returns a transfer that has finished, once. Remove it next.
  Finished NextFinished();

  // Ends the Turn that waits, or the next one.
  void Wake() const;

 private:
  CurlMulti(CURLM* multi, int kept_connections, base::Fd epoll, base::Fd wake);

  void KeepConnections();
  int MillisToWait(int millis) const;
  void LookAtDue();
  // Has curl look at the transfers that have asked for nothing yet.
  void Nudge();
  void Watch(curl_socket_t socket, int what) const;
  static int WatchCallback(CURL* easy, curl_socket_t socket, int what,
                           void* multi, void* watched);
  static int TimerCallback(CURLM* curl, long millis, void* multi);

  CURLM* const multi_;
  const int kept_connections_;
  std::unordered_set<CURL*> transfers_;
  std::unordered_set<CURL*> young_;  // may have asked for nothing yet
  std::int64_t nudge_nanos_ = 0;     // when to look at them next
  const base::Fd epoll_;
  const base::Fd wake_;  // an eventfd
  // When curl wants to look, whatever its sockets do; by the monotonic clock,
  // as curl's own timeouts are.
  std::int64_t look_nanos_ = INT64_MAX;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_CURL_MULTI_H_
