#include "server/storage/http/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Pointee;

constexpr std::int64_t kSecond = 1'000'000'000;

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() : engine_(*Engine::Create({16, &clock_})) {}

  Request To(const std::string& path) {
    Request request;
    request.url = server_.url() + path;
    return request;
  }

  std::future<Answer> Begin(Request request) {
    auto promise = std::make_shared<std::promise<Answer>>();
    std::future<Answer> answer = promise->get_future();
    request.done = [promise](Answer it) { promise->set_value(std::move(it)); };
    engine_->Post(
        [engine = engine_.get(), request] { engine->Start(request); });
    return answer;
  }
  Answer Get(Request request) { return Begin(std::move(request)).get(); }

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

TEST_F(EngineTest, GivesStatusHeadersAndBody) {
  const Answer answer = Get(To("/a%20b?c=d"));
  EXPECT_EQ(answer.failure, Failure::kNone) << answer.reason;
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_THAT(answer.Header("x-path"), Pointee(std::string("/a%20b?c=d")));
  EXPECT_THAT(answer.Header("x-two"), Pointee(std::string("b c")));
  EXPECT_EQ(answer.Header("x-three"), nullptr);
}

TEST_F(EngineTest, SendsMethodHeadersAndBody) {
  HttpServer::Asked got;
  handler_ = [&got](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    got = asked;
    peer.Answer(204, "", "");
  };
  Request request = To("/../up/./x");
  request.method = "POST";
  request.headers = {"Range: bytes=3-7", "X-Mine: yes"};
  request.body = std::string("a\0b", 3);
  EXPECT_EQ(Get(request).status, 204);
  EXPECT_EQ(got.method, "POST");
  EXPECT_EQ(got.target, "/../up/./x");
  EXPECT_EQ(got.headers["range"], "bytes=3-7");
  EXPECT_EQ(got.headers["x-mine"], "yes");
  EXPECT_EQ(got.body, std::string("a\0b", 3));
  EXPECT_EQ(got.headers.count("accept-encoding"), 0);
  request = To("/");
  request.method = "HEAD";
  EXPECT_EQ(Get(request).status, 204);
  EXPECT_EQ(got.method, "HEAD");
}

TEST_F(EngineTest, FillsTheBufferAndNotAByteMore) {
  std::vector<std::uint8_t> buffer(8, 0xEE);
  Request request = To("/");
  request.into = absl::MakeSpan(buffer).first(5);
  Answer answer = Get(request);
  EXPECT_EQ(answer.failure, Failure::kNone);
  EXPECT_EQ(answer.filled, 5);
  EXPECT_EQ(std::string(buffer.begin(), buffer.begin() + 5), "hello");
  request.into = absl::MakeSpan(buffer).first(4);
  answer = Get(request);
  EXPECT_EQ(answer.failure, Failure::kTooLong);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(buffer[5], 0xEE);
  request = To("/");
  request.max_body = 4;
  answer = Get(request);
  EXPECT_EQ(answer.failure, Failure::kTooLong);
  EXPECT_THAT(answer.reason, HasSubstr("longer than 4 bytes"));
}

TEST_F(EngineTest, KeepsTheBeginningOfAnError) {
  handler_ = [](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Answer(404, "", "gone" + std::string(100'000, '!'));
  };
  std::vector<std::uint8_t> buffer(8, 0xEE);
  Request request = To("/");
  request.into = absl::MakeSpan(buffer);
  const Answer answer = Get(request);
  EXPECT_EQ(answer.failure, Failure::kNone);
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body.size(), 4096);
  EXPECT_EQ(answer.filled, 0);
  EXPECT_EQ(buffer[0], 0xEE);
}

TEST_F(EngineTest, UsesConnectionsAgain) {
  std::atomic<int> last = 0;
  handler_ = [&last](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    last = asked.connection;
    peer.Answer(200, "", "");
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Get(To("/")).status, 200);
  EXPECT_EQ(last, 1);
}

// Connections in use do not count among those that are kept: 16 here.
TEST_F(EngineTest, UsesMoreConnectionsThanItKeepsAgain) {
  constexpr int kChains = 64;
  constexpr int kRounds = 5;
  std::barrier<> all(kChains);
  std::atomic<int> last = 0;
  handler_ = [&](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    for (int seen = last; seen < asked.connection;)
      if (last.compare_exchange_weak(seen, asked.connection)) break;
    all.arrive_and_wait();  // all are in use
    peer.Answer(200, "", "");
  };
  std::latch over(kChains);
  std::function<void(int)> ask = [&](int round) {
    Request request = To("/");
    request.done = [&, round](const Answer&) {
      round < kRounds ? ask(round + 1) : over.count_down();
    };
    engine_->Start(std::move(request));
  };
  for (int i = 0; i < kChains; ++i) engine_->Post([&ask] { ask(1); });
  over.wait();
  EXPECT_EQ(last, kChains);
}

TEST_F(EngineTest, ManyAtOnce) {
  constexpr int kRequests = 50;
  std::latch all(kRequests);
  handler_ = [&all](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    all.arrive_and_wait();  // none is answered before all have come
    peer.Answer(200, "", asked.target);
  };
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < kRequests; ++i)
    answers.push_back(Begin(To("/" + std::to_string(i))));
  for (int i = 0; i < kRequests; ++i)
    EXPECT_EQ(answers[i].get().body, "/" + std::to_string(i));
}

TEST_F(EngineTest, TellsLostConnections) {
  const std::vector<std::function<void(HttpServer::Peer&)>> ways = {
      [](HttpServer::Peer& peer) { peer.Reset(); },
      [](HttpServer::Peer& peer) { peer.Close(); },
      [](HttpServer::Peer& peer) {
        peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel");
        peer.Reset();
      },
      [](HttpServer::Peer& peer) {
        peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel");
        peer.Close();
      },
      [](HttpServer::Peer& peer) {
        peer.Send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            "5\r\nhello\r\n");
        peer.Close();
      }};
  handler_ = [ways](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    ways[std::stoul(asked.target.substr(1))](peer);
  };
  for (std::size_t way = 0; way < std::size(ways); ++way) {
    const Answer answer = Get(To("/" + std::to_string(way)));
    EXPECT_EQ(answer.failure, Failure::kLost) << answer.reason;
    EXPECT_FALSE(answer.reason.empty());
  }
}

TEST_F(EngineTest, TellsWhatIsNoHttp) {
  handler_ = [](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Send("220 smtp ready\r\n\r\n");
    peer.Close();
  };
  const Failure failure = Get(To("/")).failure;
  EXPECT_TRUE(failure == Failure::kProtocol || failure == Failure::kLost);
  Request request = To("/");
  request.url = "ftp://127.0.0.1/";
  EXPECT_EQ(Get(request).failure, Failure::kInvalid);
  request.url = "http://[/";
  EXPECT_EQ(Get(request).failure, Failure::kInvalid);
}

TEST_F(EngineTest, TellsWhereNobodyListens) {
  Request request;
  {
    const HttpServer gone([](const HttpServer::Asked&, HttpServer::Peer&) {});
    request.url = gone.url();
  }
  EXPECT_EQ(Get(request).failure, Failure::kConnect);
}

// A failure does not harm the next request, which uses the same curl handle.
TEST_F(EngineTest, WorksAfterFailures) {
  Request nowhere;
  nowhere.url = "http://nobody.invalid/";
  Request gone = To("/gone");
  handler_ = [](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
    if (asked.target != "/gone") return peer.Answer(200, "", "hello");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhell");
    peer.Reset();
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Get(nowhere).failure, Failure::kConnect);
    EXPECT_EQ(Get(To("/")).body, "hello");
    EXPECT_EQ(Get(gone).failure, Failure::kLost);
    const Answer answer = Get(To("/"));
    EXPECT_EQ(answer.failure, Failure::kNone) << answer.reason;
    EXPECT_EQ(answer.body, "hello");
  }
}

// .invalid is a name that nobody has (RFC 2606).
TEST_F(EngineTest, TellsWhereNoHostIsCalledSo) {
  for (const char* url :
       {"https://nobody.invalid/", "http://nobody.invalid/"}) {
    Request request;
    request.url = url;
    const Answer answer = Get(request);
    EXPECT_EQ(answer.failure, Failure::kConnect) << url << answer.reason;
  }
}

TEST_F(EngineTest, GivesUpWithoutAFirstByte) {
  std::latch asked_for(1);
  handler_ = [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
    asked_for.count_down();
    peer.AwaitHangUp();
  };
  Request request = To("/");
  request.timeouts.first_byte_nanos = 5 * kSecond;
  std::future<Answer> answer = Begin(request);
  asked_for.wait();
  Advance(5 * kSecond);
  EXPECT_EQ(answer.get().failure, Failure::kTimeout);
}

TEST_F(EngineTest, GivesUpAStalledAnswer) {
  handler_ = [](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel");
    peer.AwaitHangUp();
  };
  std::latch begun(1);
  Request request = To("/");
  request.timeouts.window_nanos = 2 * kSecond;
  request.begins = [&begun] {
    begun.count_down();
    return true;
  };
  std::future<Answer> answer = Begin(request);
  begun.wait();
  Advance(2 * kSecond);  // bytes that came until now open another window
  std::promise<void> looked;
  engine_->Post([&] { engine_->Post([&] { looked.set_value(); }); });
  looked.get_future().wait();
  Advance(2 * kSecond);
  EXPECT_EQ(answer.get().failure, Failure::kStalled);
}

TEST_F(EngineTest, PatienceLastsWhileBytesCome) {
  std::latch more(1);
  handler_ = [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhel");
    more.wait();
    peer.Send("lo!");
  };
  std::latch begun(1);
  Request request = To("/");
  request.timeouts.window_nanos = 2 * kSecond;
  request.begins = [&begun] {
    begun.count_down();
    return true;
  };
  std::future<Answer> answer = Begin(request);
  begun.wait();
  Advance(2 * kSecond - 1);
  more.count_down();
  EXPECT_EQ(answer.get().body, "hello!");
}

TEST_F(EngineTest, WhoIsToldMayGiveUpBeforeTheBodyComes) {
  std::vector<std::uint8_t> buffer(5, 0xEE);
  Request request = To("/");
  request.into = absl::MakeSpan(buffer);
  request.begins = [] { return false; };
  EXPECT_EQ(Get(request).failure, Failure::kCancelled);
  EXPECT_EQ(buffer[0], 0xEE);
}

TEST_F(EngineTest, CancelledRequestsAreNotAnswered) {
  std::latch asked_for(1);
  std::latch hung_up(1);
  handler_ = [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
    asked_for.count_down();
    peer.AwaitHangUp();
    hung_up.count_down();
  };
  Engine::Id id = 0;
  Request request = To("/");
  std::atomic<bool> answered = false;
  request.done = [&](const Answer&) { answered = true; };
  Engine* const engine = engine_.get();
  engine->Post([&] { id = engine->Start(request); });
  asked_for.wait();
  engine->Post([&] { engine->Cancel(id); });
  hung_up.wait();
  engine_.reset();
  EXPECT_FALSE(answered);
}

TEST_F(EngineTest, DestructionAnswersWhatIsLeft) {
  std::latch asked_for(1);
  handler_ = [&](const HttpServer::Asked&, HttpServer::Peer& peer) {
    asked_for.count_down();
    peer.AwaitHangUp();
  };
  std::future<Answer> first = Begin(To("/"));
  asked_for.wait();
  std::future<Answer> second = Begin(To("/"));
  engine_.reset();
  EXPECT_EQ(first.get().failure, Failure::kCancelled);
  EXPECT_EQ(second.get().failure, Failure::kCancelled);
}

TEST_F(EngineTest, TimersGoByTheClock) {
  std::string log;
  std::promise<void> last;
  engine_->Post([&] {
    engine_->At(2 * kSecond, [&] {
      log += 'b';
      last.set_value();
    });
    engine_->At(1 * kSecond, [&] { log += 'a'; });
    engine_->At(9 * kSecond, [&] { log += 'c'; });
  });
  Advance(2 * kSecond);
  last.get_future().wait();
  engine_.reset();
  EXPECT_EQ(log, "ab");
}

}  // namespace
}  // namespace forebay::storage::http
