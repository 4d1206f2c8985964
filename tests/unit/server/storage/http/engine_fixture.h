#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_ENGINE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_ENGINE_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "server/base/clock.h"
#include "server/storage/http/engine.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {

// An engine with a clock of the test, and a server that answers its requests.
class EngineTest {
 protected:
  EngineTest() : engine_(*Engine::Create({16, &clock_})) {}

  HttpRequest To(const std::string& path) {
    HttpRequest request;
    request.url = server_.url() + path;
    return request;
  }

  std::future<HttpResponse> Begin(HttpRequest request) {
    auto promise = std::make_shared<std::promise<HttpResponse>>();
    std::future<HttpResponse> answer = promise->get_future();
    request.done = [promise](HttpResponse it) {
      promise->set_value(std::move(it));
    };
    engine_->Post(
        [engine = engine_.get(), request] { engine->Start(request); });
    return answer;
  }
  HttpResponse Get(HttpRequest request) {
    return Begin(std::move(request)).get();
  }

  void Advance(std::int64_t nanos) {
    clock_.Advance(nanos);
    engine_->Post([] {});
  }

  std::function<void(const HttpServer::Asked&, HttpServer::Peer&)> handler_ =
      [](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
        peer.Answer(200, "X-Path: " + asked.target + "\r\nx-two:  b c \r\n",
                    asked.method == "HEAD" ? "" : "hello");
      };
  base::FakeClock clock_;
  HttpServer server_{[this](const HttpServer::Asked& asked,
                            HttpServer::Peer& peer) { handler_(asked, peer); }};
  std::unique_ptr<Engine> engine_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_ENGINE_FIXTURE_H_
