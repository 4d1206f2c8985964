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

// One request in flight: sets curl up, and collects the answer. Not
// thread-safe. Owns its headers, not the handle. Never blocks. Errors are in
// the answer.
class Transfer {
 public:
  // Sets up `easy`, which is fresh or reset; `id` names the transfer.
  Transfer(std::uint64_t id, Request request, CURL* easy,
           const base::Clock& clock);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  std::uint64_t id() const { return id_; }
  CURL* easy() const { return easy_; }

  // Returns when the transfer times out if nothing comes until then; moves the
  // window on.
  std::int64_t OverdueAt(std::int64_t now_nanos);
  // Returns a time before which the transfer does not time out, whatever comes.
  std::int64_t LookAt(std::int64_t now_nanos);

  // Fills in the answer when curl is done.
  void Conclude(CURLcode code);
  // Fills in the answer of a transfer that the engine drops.
  void GiveUp(Failure failure, std::string reason);
  // Returns whether the answer has begun.
  bool begun() const { return begun_; }

  // Says, for people, what a transfer whose answer has not begun waits for.
  const char* Stage() const;

  // Calls `done`; the last call.
  void Deliver();

 private:
  void SetUp();
  void ReadStatus();
  bool OnHeader(std::string_view line);
  std::size_t OnBody(const char* data, std::size_t size);
  bool MayAsk(const char* address);
  static int ConnectedCallback(void* transfer, char* address, char* own,
                               int port, int own_port);
  static std::size_t HeaderCallback(char* data, std::size_t size,
                                    std::size_t count, void* transfer);
  static std::size_t BodyCallback(char* data, std::size_t size,
                                  std::size_t count, void* transfer);

  const std::uint64_t id_;
  Request request_;
  CURL* const easy_;
  const base::Clock& clock_;
  curl_slist* headers_ = nullptr;
  char error_[CURL_ERROR_SIZE] = {};
  Answer answer_;
  bool begun_ = false;
  bool headers_done_ = false;
  bool set_up_ = true;
  std::uint64_t received_ = 0;  // bytes of body
  std::int64_t window_nanos_;   // when the timeout's window began
  std::uint64_t window_received_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_TRANSFER_H_
