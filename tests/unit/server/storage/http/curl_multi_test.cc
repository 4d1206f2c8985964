#include "server/storage/http/curl_multi.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

std::size_t Drop(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

class CurlMultiTest : public ::testing::Test {
 protected:
  // The port that only 127.0.0.1 listens to.
  std::string Port() const {
    return server_.url().substr(server_.url().rfind(':') + 1);
  }

  // A request to a host of these addresses.
  CURL* Ask(const std::string& addresses) {
    curl_slist_free_all(resolved_);
    resolved_ = curl_slist_append(nullptr,
                                  ("many:" + Port() + ":" + addresses).c_str());
    CURL* const easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, ("http://many:" + Port()).c_str());
    curl_easy_setopt(easy, CURLOPT_RESOLVE, resolved_);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Drop);
    EXPECT_TRUE(multi_->Add(easy));
    return easy;
  }

  // The next that has finished, within that time.
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

  ~CurlMultiTest() override { curl_slist_free_all(resolved_); }

  HttpServer server_{[](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(200, "", "hello");
  }};
  const std::unique_ptr<CurlMulti> multi_ = *CurlMulti::Create(4);
  curl_slist* resolved_ = nullptr;
};

TEST_F(CurlMultiTest, GoesOnToAHostsNextAddress) {
  CURL* const easy = Ask("127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.1");
  const CurlMulti::Finished finished = Finish(std::chrono::seconds(10));
  EXPECT_EQ(finished.easy, easy);
  EXPECT_EQ(finished.code, CURLE_OK);
  End(easy);
}

TEST_F(CurlMultiTest, TellsOfAHostThatRefusesAtAllAddresses) {
  CURL* const easy = Ask("127.0.0.2,127.0.0.3,127.0.0.4");
  EXPECT_EQ(Finish(std::chrono::seconds(10)).code, CURLE_COULDNT_CONNECT);
  End(easy);
}

TEST_F(CurlMultiTest, AWakeEndsATurnOfAnotherThread) {
  std::thread other([this] { multi_->Wake(); });
  multi_->Turn(60'000);
  other.join();
  EXPECT_EQ(multi_->NextFinished().easy, nullptr);
}

TEST_F(CurlMultiTest, WhatWasNotAddedIsNotRemoved) {
  CURL* const other = curl_easy_init();
  CURL* const easy = Ask("127.0.0.1");
  multi_->Remove(other);
  EXPECT_EQ(Finish(std::chrono::seconds(10)).easy, easy);
  End(easy);
  multi_->Remove(easy);  // nor twice
  curl_easy_cleanup(other);
}

}  // namespace
}  // namespace forebay::storage::http
