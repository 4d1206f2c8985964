// Tests of reads from a web server, over real connections and with faults of
// every kind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <latch>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/http_root.h"
#include "server/storage/http/ranged_source.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/http/object_server.h"

namespace forebay::storage::http {
namespace {

constexpr std::uint64_t kPartBytes = 1000;

std::string RandomText(std::size_t length, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(length, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

class HttpSourceTest : public ::testing::Test {
 protected:
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

  ReadRequest Request(const std::string& object) {
    ReadRequest request;
    request.root = root_;
    request.object = object;
    request.version = *StatObject(&*client_, *root_, object);
    request.length = request.version.size;
    return request;
  }

  // Waits until the engine has done all that was asked of it.
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

TEST_F(HttpSourceTest, LargeReadsGoInParts) {
  const std::string content = RandomText(12'345, 1);
  server_.Put("a", content);
  const ReadRequest request = Request("a");
  const int before = server_.asked();
  EXPECT_EQ(*Read(request), content);
  EXPECT_EQ(server_.asked() - before, 13);
}

TEST_F(HttpSourceTest, EveryFaultPasses) {
  const std::string content = RandomText(5'000, 1);
  server_.Put("a", content);
  for (const Fault fault : kPassingFaults) {
    if (fault == Fault::k429) continue;  // asks for a time that no test waits
    ReadRequest request = Request("a");
    request.offset = 100;
    request.length = 900;
    std::atomic<int> left = 3;
    const auto faults = server_.SetFaults([&](const HttpServer::Asked&) {
      return left-- > 0 ? fault : Fault::kNone;
    });
    const auto bytes = Read(request);
    ASSERT_TRUE(bytes.ok()) << bytes.status() << static_cast<int>(fault);
    EXPECT_EQ(*bytes, content.substr(100, 900));
    EXPECT_LE(left, 0);
  }
}

TEST_F(HttpSourceTest, NamesTheEncodingOfAServerThatCompressesRanges) {
  server_.Put("a", RandomText(500, 1));
  ReadRequest request = Request("a");
  request.length = 400;
  const auto faults = server_.SetFaults(
      [](const HttpServer::Asked&) { return Fault::kCompressed; });
  const auto bytes = Read(request);
  EXPECT_TRUE(absl::IsUnimplemented(bytes.status()));
  EXPECT_THAT(std::string(bytes.status().message()),
              testing::HasSubstr("Content-Encoding: gzip"));
}

TEST_F(HttpSourceTest, FaultsEverywhereSpoilNothing) {
  std::vector<std::string> contents;
  std::vector<ReadRequest> requests;
  std::vector<std::string> got(40);
  std::set<std::string> small;  // read in one request
  for (int i = 0; i < 40; ++i) {
    contents.push_back(RandomText(1 + 150 * i, i));
    const std::string name = "o" + std::to_string(i);
    server_.Put(name, contents.back());
    if (contents.back().size() <= kPartBytes) small.insert("/data/" + name);
    requests.push_back(Request(name));
  }
  base::Mutex mutex;
  std::set<std::string> asked;
  const auto faults = server_.SetFaults([&](const HttpServer::Asked& it) {
    base::MutexLock lock(&mutex);
    // Only the first answer of each is spoilt: a server that sends no ranges at
    // a late try is believed.
    const std::size_t number = asked.size();
    const auto range = it.headers.find("range");
    if (!asked
             .insert(it.target +
                     (range == it.headers.end() ? "" : range->second))
             .second)
      return Fault::kNone;
    const Fault fault = kPassingFaults[number % std::size(kPassingFaults)];
    // If a request for a whole object is answered with another length, the
    // source reports that the object was replaced.
    if (fault == Fault::kNoRange && small.contains(it.target))
      return Fault::kTruncate;
    return fault == Fault::k429 ? Fault::k503 : fault;
  });
  std::latch done(40);
  for (int i = 0; i < 40; ++i)
    requests[i].done = [&, i](absl::StatusOr<ReadResult> result) {
      got[i] = result.ok() ? std::string(result->bytes.span().begin(),
                                         result->bytes.span().end())
                           : result.status().ToString();
      done.count_down();
    };
  source_->Read(absl::MakeSpan(requests));
  done.wait();
  for (int i = 0; i < 40; ++i)
    EXPECT_TRUE(got[i] == contents[i]) << i << ": " << got[i].substr(0, 99);
}

TEST_F(HttpSourceTest, AnObjectOverwrittenAmidIsNeverMixed) {
  server_.Put("a", std::string(10'000, 'a'));
  ReadRequest request = Request("a");
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&](const HttpServer::Asked&) {
    if (asked++ == 4) server_.Put("a", std::string(10'000, 'b'));
    return Fault::kNone;
  });
  const absl::Status status = Read(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()),
            "a: was replaced or changed since the dataset was indexed");
}

TEST_F(HttpSourceTest, NamesWhichLeaveTheRootAreRefused) {
  server_.Put("a", "1");
  ReadRequest request = Request("a");
  request.object = "../a";
  EXPECT_EQ(Read(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HttpSourceTest, StatTellsWhatIsWrong) {
  const absl::Status gone = StatObject(&*client_, *root_, "missing").status();
  EXPECT_EQ(gone, absl::NotFoundError("missing: there is no such object"));
}

TEST_F(HttpSourceTest, NoMoreIsAskedForThanMayBeHeld) {
  server_.Put("a", "0123456789");
  const ReadRequest request = Request("a");
  for (const auto& [options, expected] :
       std::vector<std::pair<RangedSourceOptions, std::size_t>>{
           {{.concurrency = 5}, 5},
           {{.concurrency = 50, .max_bytes = 25}, 3},
           {{.concurrency = 50, .max_bytes = 1}, 1}}) {
    source_.emplace(&*client_, &protocol_, nullptr, options);
    std::latch now(1);
    const auto faults = server_.SetFaults([&now](const HttpServer::Asked&) {
      now.wait();
      return Fault::kNone;
    });
    std::latch done(60);
    std::vector<ReadRequest> requests(60, request);
    for (ReadRequest& one : requests)
      one.done = [&done](const absl::StatusOr<ReadResult>& result) {
        EXPECT_TRUE(result.ok());
        done.count_down();
      };
    source_->Read(absl::MakeSpan(requests));
    Settle();
    const SourceState state = source_->State();
    EXPECT_LE(state.in_flight, expected);
    EXPECT_EQ(state.in_flight + state.waiting + state.stalled, 60u);
    now.count_down();
    done.wait();
    Settle();
    EXPECT_EQ(source_->State().in_flight, 0u);
  }
}

TEST_F(HttpSourceTest, EachJobsRequestsAreBooked) {
  server_.Put("a", RandomText(2'500, 1));
  ReadRequest request = Request("a");
  request.purpose.job = 9;
  EXPECT_TRUE(Read(request).ok());
  const RequestCounts gets = client_->ledger().Of(9).gets;
  EXPECT_EQ(gets.requests, 3u);
  EXPECT_EQ(gets.bytes, 2'500u);
  client_->ledger().Forget(9);
  EXPECT_EQ(client_->ledger().Of(9).gets.requests, 0u);
}

TEST_F(HttpSourceTest, AReadThatOthersWantTakesTheMostUrgentPlace) {
  server_.Put("a", "0123456789");
  const ReadRequest request = Request("a");
  source_.emplace(&*client_, &protocol_, nullptr, RangedSourceOptions{1, 1000});
  std::latch now(1);
  const auto faults = server_.SetFaults([&now](const HttpServer::Asked&) {
    now.wait();
    return Fault::kNone;
  });
  std::vector<int> order;
  std::latch done(10);
  std::vector<ReadRequest> requests(10, request);
  for (int i = 0; i < 10; ++i) {
    requests[i].purpose = {.job = 1, .urgency = 5};
    requests[i].ticket = 100 + i;
    requests[i].done = [&, i](const absl::StatusOr<ReadResult>&) {
      order.push_back(i);
      done.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  source_->Share(108, {.job = 1, .urgency = 0});
  source_->Share(107, {.job = 1, .urgency = 3});
  source_->Share(100, {.job = 1, .urgency = 0});  // is under way
  source_->Share(7, {.job = 1, .urgency = 0});    // is not known
  Settle();
  now.count_down();
  done.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 8, 7, 1, 2, 3, 4, 5, 6, 9}));
}

TEST_F(HttpSourceTest, WhoIsOverItsCapWaits) {
  server_.Put("a", "0123456789");
  const ReadRequest request = Request("a");
  source_->SetCap(1, 1e-3);  // bytes a second
  std::latch first(1);
  std::latch others(2);
  std::vector<ReadRequest> requests(3, request);
  for (ReadRequest& one : requests) {
    one.purpose.job = 1;
    one.done = [&](const absl::StatusOr<ReadResult>& result) {
      EXPECT_TRUE(result.ok());
      first.try_wait() ? others.count_down() : first.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  first.wait();
  EXPECT_TRUE(Read(request).ok());  // for another job
  Settle();
  EXPECT_EQ(source_->State().waiting, 2u);
  source_->SetCap(1, std::numeric_limits<double>::infinity());
  others.wait();
}

TEST_F(HttpSourceTest, JobsShareByWeight) {
  server_.Put("a", "0123456789");
  const ReadRequest request = Request("a");
  source_.emplace(&*client_, &protocol_, nullptr, RangedSourceOptions{1, 1000});
  source_->SetWeight(2, 3);
  std::vector<int> order;
  std::latch done(80);
  std::vector<ReadRequest> requests(80, request);
  for (int i = 0; i < 80; ++i) {
    requests[i].purpose.job = 1 + i % 2;
    requests[i].done = [&, i](const absl::StatusOr<ReadResult>&) {
      order.push_back(1 + i % 2);
      done.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  done.wait();
  int second = 0;
  for (int i = 0; i < 40; ++i) second += order[i] == 2;
  EXPECT_NEAR(second, 30, 2);
}

// No more bytes come in that time than the cap allows, however slow this
// machine is.
TEST_F(HttpSourceTest, ACapHoldsAndReadsGoOnByThemselves) {
  server_.Put("a", std::string(1000, 'a'));
  const ReadRequest request = Request("a");
  constexpr int kReads = 30;
  constexpr double kCap = 100'000;  // bytes a second
  source_->SetCap(1, kCap);
  const std::int64_t begin = base::Clock::Monotonic()->NowNanos();
  std::latch done(kReads);
  std::vector<ReadRequest> requests(kReads, request);
  for (ReadRequest& one : requests) {
    one.purpose.job = 1;
    one.done = [&](const absl::StatusOr<ReadResult>& result) {
      EXPECT_TRUE(result.ok()) << result.status();
      done.count_down();
    };
  }
  source_->Read(absl::MakeSpan(requests));
  done.wait();
  const double seconds =
      1e-9 * static_cast<double>(base::Clock::Monotonic()->NowNanos() - begin);
  EXPECT_LE(kReads * 1000, kCap * (seconds + 0.1) * 1.001);
}

TEST_F(HttpSourceTest, AReadThatAnotherJobWantsSoonerTakesItsPlace) {
  server_.Put("a", "0123456789");
  constexpr int kReads = 300;
  RangedSourceOptions options;
  options.concurrency = 1;
  options.part_bytes = 4;
  source_.emplace(&*client_, &protocol_, nullptr, options);
  std::latch done(kReads);
  std::vector<int> order;
  std::vector<ReadRequest> requests(kReads, Request("a"));
  for (int i = 0; i < kReads; ++i) {
    requests[i].purpose = {.job = 1};
    requests[i].done = [&, i](const absl::StatusOr<ReadResult>& result) {
      EXPECT_TRUE(result.ok()) << result.status();
      order.push_back(i);
      done.count_down();
    };
  }
  requests[0].purpose.urgency = 9;
  requests[0].ticket = 7;
  source_->Read(absl::MakeSpan(requests));
  source_->Share(7, {.job = 2});
  source_->Share(8, {.job = 2});  // nobody knows it
  done.wait();
  EXPECT_NE(order.back(), 0) << "it would have come last";
}

}  // namespace
}  // namespace forebay::storage::http
