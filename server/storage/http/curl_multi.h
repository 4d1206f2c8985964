#ifndef FOREBAY_SERVER_STORAGE_HTTP_CURL_MULTI_H_
#define FOREBAY_SERVER_STORAGE_HTTP_CURL_MULTI_H_

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::storage::http {

// Runs libcurl's transfers, whose sockets epoll watches. The cost of one
// transfer therefore does not grow with the number of transfers.
//
// One thread calls everything but Wake, which any thread may call. The caller
// owns the transfers' handles, and removes each before it ends the handle or
// this object. Turn blocks. Without CURLOPT_QUICK_EXIT, Remove also blocks
// while names are being resolved. No other call blocks.
//
// The process must not fork: curl closes some sockets before it removes them
// from epoll. If a child process had copies of these sockets, epoll would go on
// to report them. Errors: Create gives INTERNAL and RESOURCE_EXHAUSTED; errors
// of transfers are in Finished.
class CurlMulti {
 public:
  // A transfer that has finished, and its result.
  struct Finished {
    CURL* easy = nullptr;  // nullptr if no transfer has finished
    CURLcode code = CURLE_OK;
  };

  // Makes an object that keeps about `idle_connections` idle connections open
  // for later requests, besides those in use.
  static absl::StatusOr<std::unique_ptr<CurlMulti>> Create(
      int idle_connections);
  ~CurlMulti();
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  // Begins a transfer at the next Turn. Returns false if there is no memory.
  bool Add(CURL* easy);
  // Drops a transfer. Ignores a transfer that was not added.
  void Remove(CURL* easy);

  // Waits until a transfer can go on or Wake is called, at most `millis`
  // milliseconds. Then makes curl continue all transfers that can go on.
  void Turn(int millis);

  // Returns a transfer that has finished, each only once. The caller then calls
  // Remove for it.
  Finished NextFinished();

  // Ends the Turn that waits, or the next one.
  void Wake() const;

 private:
  CurlMulti(CURLM* multi, int idle_connections, base::Fd epoll, base::Fd wake);

  // Tells curl how many connections to keep open.
  void KeepConnections();
  // Returns the milliseconds that Turn may wait, at most `millis`.
  int MillisToWait(int millis) const;
  // Makes curl look at its transfers if curl's own timer is due.
  void LookAtDue();
  // Makes curl look at the transfers that have not sent their request yet.
  void Nudge();
  // Makes epoll watch a socket for the events that curl wants (CURL_POLL_...).
  void Watch(curl_socket_t socket, int what) const;
  static int WatchCallback(CURL* easy, curl_socket_t socket, int what,
                           void* multi, void* watched);
  static int TimerCallback(CURLM* curl, long millis, void* multi);

  CURLM* const multi_;
  const int idle_connections_;
  std::unordered_set<CURL*> transfers_;
  // The transfers that may not have sent their request yet.
  std::unordered_set<CURL*> young_;
  // The time of the next Nudge.
  std::int64_t nudge_nanos_ = 0;
  const base::Fd epoll_;
  const base::Fd wake_;  // an eventfd
  // The time at which curl wants to look at its transfers whatever their
  // sockets do. The time is the monotonic clock's, which curl's own timeouts
  // also use.
  std::int64_t look_nanos_ = INT64_MAX;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_CURL_MULTI_H_
