// Tests of reads from a web server, over real connections and with faults of
// every kind.

#include <atomic>
#include <latch>
#include <set>
#include <string>
#include <vector>

#include "server/base/mutex.h"
#include "server/storage/http/client.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/http/http_source_fixture.h"
#include "tests/unit/server/storage/http/object_server.h"

namespace forebay::storage::http {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

TEST_CASE_METHOD(HttpSourceTest, "Large reads of the HTTP source go in parts",
                 "[http][http_source]") {
  const std::string content = RandomText(12'345, 1);
  server_.Put("a", content);
  const ReadRequest request = HttpRequest("a");
  const int before = server_.asked();
  CHECK(*Read(request) == content);
  CHECK(server_.asked() - before == 13);
}

TEST_CASE_METHOD(HttpSourceTest,
                 "The HTTP source reads on after every fault that passes",
                 "[http][http_source]") {
  const std::string content = RandomText(5'000, 1);
  server_.Put("a", content);
  for (const Fault fault : kPassingFaults) {
    // This fault demands a longer wait than tests allow.
    if (fault == Fault::k429) continue;
    ReadRequest request = HttpRequest("a");
    request.offset = 100;
    request.length = 900;
    std::atomic<int> left = 3;
    const auto faults = server_.SetFaults([&](const HttpServer::Asked&) {
      return left-- > 0 ? fault : Fault::kNone;
    });
    const auto bytes = Read(request);
    UNSCOPED_INFO(bytes.status() << static_cast<int>(fault));
    REQUIRE_THAT(bytes, IsOk());
    CHECK(*bytes == content.substr(100, 900));
    CHECK(left <= 0);
  }
}

TEST_CASE_METHOD(
    HttpSourceTest,
    "The HTTP source names the encoding of a server that compresses ranges",
    "[http][http_source]") {
  server_.Put("a", RandomText(500, 1));
  ReadRequest request = HttpRequest("a");
  request.length = 400;
  const auto faults = server_.SetFaults(
      [](const HttpServer::Asked&) { return Fault::kCompressed; });
  const auto bytes = Read(request);
  CHECK_THAT(bytes, HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(bytes.status().message(), Contains("Content-Encoding: gzip"));
}

TEST_CASE_METHOD(HttpSourceTest,
                 "Faults everywhere spoil nothing that the HTTP source reads",
                 "[http][http_source]") {
  std::vector<std::string> contents;
  std::vector<ReadRequest> requests;
  std::vector<std::string> got(40);
  std::set<std::string> small;  // objects that are read in one request
  for (int i = 0; i < 40; ++i) {
    contents.push_back(RandomText(1 + 150 * i, i));
    const std::string name = "o" + std::to_string(i);
    server_.Put(name, contents.back());
    if (contents.back().size() <= kPartBytes) small.insert("/data/" + name);
    requests.push_back(HttpRequest(name));
  }
  base::Mutex mutex;
  std::set<std::string> asked;
  const auto faults = server_.SetFaults([&](const HttpServer::Asked& it) {
    base::MutexLock lock(&mutex);
    // Only the first answer to each request is spoilt. If a server sends no
    // ranges even at a late try, the client accepts that.
    const std::size_t number = asked.size();
    const auto range = it.headers.find("range");
    if (!asked
             .insert(it.target +
                     (range == it.headers.end() ? "" : range->second))
             .second)
      return Fault::kNone;
    const Fault fault = kPassingFaults[number % std::size(kPassingFaults)];
    // If a request for a whole object gets an answer of another length, the
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
  for (int i = 0; i < 40; ++i) {
    UNSCOPED_INFO(i << ": " << got[i].substr(0, 99));
    CHECK(got[i] == contents[i]);
  }
}

TEST_CASE_METHOD(
    HttpSourceTest,
    "An HTTP object that is overwritten amid a read is never mixed",
    "[http][http_source]") {
  server_.Put("a", std::string(10'000, 'a'));
  ReadRequest request = HttpRequest("a");
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&](const HttpServer::Asked&) {
    if (asked++ == 4) server_.Put("a", std::string(10'000, 'b'));
    return Fault::kNone;
  });
  const absl::Status status = Read(request).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK(std::string(status.message()) ==
        "a: was replaced or changed since the dataset was indexed");
}

TEST_CASE_METHOD(HttpSourceTest,
                 "The HTTP source refuses names which leave the root",
                 "[http][http_source]") {
  server_.Put("a", "1");
  ReadRequest request = HttpRequest("a");
  request.object = "../a";
  CHECK_THAT(Read(request), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(HttpSourceTest,
                 "The stat of an HTTP object tells what is wrong",
                 "[http][http_source]") {
  const absl::Status gone = StatObject(&*client_, *root_, "missing").status();
  CHECK(gone == absl::NotFoundError("missing: there is no such object"));
}

}  // namespace
}  // namespace forebay::storage::http
