#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_HTTP_SOURCE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_HTTP_SOURCE_FIXTURE_H_

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/http_root.h"
#include "server/storage/http/ranged_source.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/http/object_server.h"

namespace forebay::storage::http {

// A source of a server's objects. The source retries without waiting.
class HttpSourceTest {
 protected:
  static constexpr std::uint64_t kPartBytes = 1000;

  static std::string RandomText(std::size_t length, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::string text(length, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    return text;
  }

  HttpSourceTest()
      : engine_(*Engine::Create()), root_(*HttpRoot::Create(server_.url())) {
    RetryOptions options;
    options.attempts = 20;
    options.first_delay_nanos = 0;
    options.max_asked_nanos = 0;
    options.retry_burst = 1e6;
    client_.emplace(engine_.get(), options, 1);
    source_.emplace(client_.operator->(), &protocol_, nullptr,
                    RangedSourceOptions{8, kPartBytes});
  }

  ReadRequest HttpRequest(const std::string& object) {
    ReadRequest request;
    request.root = root_;
    request.object = object;
    request.version = *StatObject(&*client_, *root_, object);
    request.length = request.version.size;
    return request;
  }

  // Waits until the engine has done everything that was requested before.
  void Settle() {
    std::promise<void> settled;
    engine_->Post([&settled] { settled.set_value(); });
    settled.get_future().wait();
  }

  absl::StatusOr<std::string> Read(ReadRequest request) {
    return ReadText(*source_, std::move(request));
  }

  ObjectServer server_;
  const HttpProtocol protocol_;
  const std::unique_ptr<Engine> engine_;
  const std::shared_ptr<const HttpRoot> root_;
  std::optional<Client> client_;
  std::optional<RangedSource> source_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_HTTP_SOURCE_FIXTURE_H_
