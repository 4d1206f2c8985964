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

// One request on its way: what curl is told, and what it brings. Not
// thread-safe; owns its headers, not the handle. Never blocks. What fails is
// told in the answer.
class Transfer {
 public:
  // Sets `easy`, which is fresh or reset, up; `id` is for who finds it again.
  Transfer(std::uint64_t id, Request request, CURL* easy,
           const base::Clock& clock);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  std::uint64_t id() const { return id_; }
  CURL* easy() const { return easy_; }

  // When timeouts ends if nothing comes until then; moves the window on.
  std::int64_t OverdueAt(std::int64_t now_nanos);
  // Timeouts does not end before, whatever comes.
  std::int64_t LookAt(std::int64_t now_nanos);

  // Curl is done with it.
  void Conclude(CURLcode code);
  // It is given up.
  void GiveUp(Failure failure, std::string reason);
  // Whether the answer has begun.
  bool begun() const { return begun_; }

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
  std::int64_t window_nanos_;   // when the window of timeouts began
  std::uint64_t window_received_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_TRANSFER_H_
