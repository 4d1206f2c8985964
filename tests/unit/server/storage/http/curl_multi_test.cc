#include "server/storage/http/curl_multi.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tests/catch/catch.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

std::size_t Drop(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

class CurlMultiTest {
 protected:
  // Returns the port, on which only 127.0.0.1 listens.
  std::string Port() const {
    return server_.url().substr(server_.url().rfind(':') + 1);
  }

  // Starts a request to a host with these addresses.
  CURL* Ask(const std::string& addresses) {
    curl_slist_free_all(resolved_);
    resolved_ = curl_slist_append(nullptr,
                                  ("many:" + Port() + ":" + addresses).c_str());
    CURL* const easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, ("http://many:" + Port()).c_str());
    curl_easy_setopt(easy, CURLOPT_RESOLVE, resolved_);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Drop);
    CHECK(multi_->Add(easy));
    return easy;
  }

  // Returns the next request that has finished, within `most` seconds.
  CurlMulti::Finished Finish(std::chrono::seconds most) {
    const auto end = std::chrono::steady_clock::now() + most;
    CurlMulti::Finished finished;
    while (finished.easy == nullptr && std::chrono::steady_clock::now() < end) {
      multi_->Turn(1000);
      finished = multi_->NextFinished();
    }
    return finished;
  }

  void End(CURL* easy) {
    multi_->Remove(easy);
    curl_easy_cleanup(easy);
  }

  ~CurlMultiTest() { curl_slist_free_all(resolved_); }

  HttpServer server_{[](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(200, "", "hello");
  }};
  const std::unique_ptr<CurlMulti> multi_ = *CurlMulti::Create(4);
  curl_slist* resolved_ = nullptr;
};

TEST_CASE_METHOD(CurlMultiTest,
                 "The curl multi handle goes on to a host's next address",
                 "[http][curl_multi]") {
  CURL* const easy = Ask("127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.1");
  const CurlMulti::Finished finished = Finish(std::chrono::seconds(10));
  CHECK(finished.easy == easy);
  CHECK(finished.code == CURLE_OK);
  End(easy);
}

TEST_CASE_METHOD(
    CurlMultiTest,
    "The curl multi handle tells of a host that refuses at all addresses",
    "[http][curl_multi]") {
  CURL* const easy = Ask("127.0.0.2,127.0.0.3,127.0.0.4");
  CHECK(Finish(std::chrono::seconds(10)).code == CURLE_COULDNT_CONNECT);
  End(easy);
}

TEST_CASE_METHOD(CurlMultiTest,
                 "A wake ends another thread's turn of the curl multi handle",
                 "[http][curl_multi]") {
  std::jthread other([this] { multi_->Wake(); });
  multi_->Turn(60'000);
  other.join();
  CHECK(multi_->NextFinished().easy == nullptr);
}

TEST_CASE_METHOD(CurlMultiTest,
                 "The curl multi handle does not remove what was not added",
                 "[http][curl_multi]") {
  CURL* const other = curl_easy_init();
  CURL* const easy = Ask("127.0.0.1");
  multi_->Remove(other);
  CHECK(Finish(std::chrono::seconds(10)).easy == easy);
  End(easy);
  multi_->Remove(easy);  // a second removal does nothing
  curl_easy_cleanup(other);
}

}  // namespace
}  // namespace forebay::storage::http
