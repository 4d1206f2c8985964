// Tests the cost per request that a source measures for a server.

#include <cstdint>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/base/clock.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/http_root.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/http/request_meter.h"
#include "tests/catch/catch.h"
#include "tests/catch/thread_checks.h"
#include "tests/unit/server/storage/http/object_server.h"

namespace forebay::storage::http {
namespace {

using Catch::WithinAbs;

// On the test's clock, each request takes a fixed time, and some time for each
// byte. Several requests run at once.
class RequestCostTest {
 protected:
  static constexpr int kAtOnce = 4;
  static constexpr std::int64_t kWaitNanos = 200'000'000;
  static constexpr std::int64_t kNanosAByte = 1'000;

  // Reads objects of these sizes, all at once. Returns the source's measured
  // cost of a request.
  std::int64_t Measure(const std::vector<std::size_t>& sizes) {
    Client client(engine_.get(), {}, 1);
    const auto root = *HttpRoot::Create(server_.url());
    for (const std::size_t size : sizes)
      server_.Put(std::to_string(size), std::string(size, 'a'));
    RangedSource source(
        &client, &protocol_, nullptr,
        {.concurrency = kAtOnce, .hedge = {.share = 1e-9, .burst = 1e-9}});
    tests::ThreadChecks checks;
    std::latch done(static_cast<std::ptrdiff_t>(sizes.size()));
    std::vector<ReadRequest> requests(sizes.size());
    std::map<std::size_t, ObjectVersion> versions;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      requests[i].root = root;
      requests[i].object = std::to_string(sizes[i]);
      auto& version = versions[sizes[i]];
      if (version.size == 0)
        version = *StatObject(&client, *root, requests[i].object);
      requests[i].version = version;
      requests[i].length = sizes[i];
      requests[i].done = [&](const absl::StatusOr<ReadResult>& result) {
        checks.CheckOk(result.status());
        done.count_down();
      };
    }
    const auto faults =
        server_.SetFaults([this](const HttpServer::Asked& asked) {
          const std::int64_t size =
              std::stoll(asked.target.substr(asked.target.rfind('/') + 1));
          clock_.Advance((kWaitNanos + size * kNanosAByte) / kAtOnce);
          return Fault::kNone;
        });
    source.Read(absl::MakeSpan(requests));
    done.wait();
    std::promise<void> settled;  // set when the last answer is accounted for
    engine_->Post([&settled] { settled.set_value(); });
    settled.get_future().wait();
    return source.State().request_cost;
  }

  base::FakeClock clock_;
  ObjectServer server_;
  const HttpProtocol protocol_;
  const std::unique_ptr<Engine> engine_ = *Engine::Create({.clock = &clock_});
};

TEST_CASE_METHOD(RequestCostTest,
                 "The measured cost of a request is the bytes that its wait "
                 "would have brought",
                 "[http][measured_cost]") {
  std::mt19937 random(1);
  std::vector<std::size_t> sizes;
  for (int stretch = 0; stretch < 20; ++stretch) {
    const unsigned large = random() % 50;  // number of large requests among 50
    for (unsigned i = 0; i < 50; ++i)
      sizes.push_back(random() % 50 < large ? 200'000 : 1'000);
  }
  CHECK_THAT(static_cast<double>(Measure(sizes)), WithinAbs(200'000, 60'000));
}

TEST_CASE_METHOD(RequestCostTest,
                 "The measured cost of a request stays the same where all "
                 "requests are alike",
                 "[http][measured_cost]") {
  CHECK(Measure(std::vector<std::size_t>(500, 1'000)) ==
        RequestMeter::kFirstCost);
}

}  // namespace
}  // namespace forebay::storage::http
