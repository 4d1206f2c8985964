#ifndef FOREBAY_SERVER_STORAGE_HTTP_TRANSFER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_TRANSFER_H_

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/base/clock.h"
#include "server/storage/http/message.h"

namespace forebay::storage::http {

// A request in flight: sets curl up, and collects the answer.
//
// Not thread-safe: only the engine's thread uses it. The transfer owns its
// headers, but not the handle. Never blocks. Errors are in the answer.
class Transfer {
 public:
  // Sets up `easy`, which is new or reset, for the request. `id` names the
  // transfer.
  Transfer(std::uint64_t id, HttpRequest request, CURL* easy,
           const base::Clock& clock);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  std::uint64_t id() const { return id_; }
  CURL* easy() const { return easy_; }

  // Returns the time at which the transfer times out if nothing comes until
  // then. Begins a new window if enough has come in the present one.
  std::int64_t OverdueAt(std::int64_t now_nanos);
  // Returns a time before which the transfer does not time out, whatever comes.
  std::int64_t LookAt(std::int64_t now_nanos);

  // Fills in the answer once curl is done.
  void Conclude(CURLcode code);
  // Fills in the answer of a transfer that the engine drops.
  void GiveUp(HttpFailure failure, std::string reason);
  // Whether the answer has begun.
  bool begun() const { return begun_; }

  // Returns in words, for messages, what the transfer waits for before its
  // answer begins.
  const char* Stage() const;

  // Calls `done`. No other function is called afterwards.
  void Deliver();

 private:
  void SetUp();
  void ReadStatus();
  // Takes a line of the header. Returns false to end the transfer.
  bool OnHeader(std::string_view line);
  // Takes bytes of the body, and returns how many it took. If it takes fewer
  // than `size`, curl ends the transfer.
  std::size_t OnBody(const char* data, std::size_t size);
  // Whether the request may be sent to that address.
  bool MayAsk(const char* address);
  static int ConnectedCallback(void* transfer, char* address, char* own,
                               int port, int own_port);
  static std::size_t HeaderCallback(char* data, std::size_t size,
                                    std::size_t count, void* transfer);
  static std::size_t BodyCallback(char* data, std::size_t size,
                                  std::size_t count, void* transfer);

  const std::uint64_t id_;
  HttpRequest request_;
  CURL* const easy_;
  const base::Clock& clock_;
  curl_slist* headers_ = nullptr;
  char error_[CURL_ERROR_SIZE] = {};
  HttpResponse answer_;
  bool begun_ = false;
  bool headers_done_ = false;
  // Whether curl has accepted all options.
  bool set_up_ = true;
  // The bytes of the body that have come.
  std::uint64_t received_ = 0;
  // When the timeout's window began. Until the answer begins, this is when the
  // request began.
  std::int64_t window_nanos_;
  // The bytes that had come when the window began.
  std::uint64_t window_received_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_TRANSFER_H_
