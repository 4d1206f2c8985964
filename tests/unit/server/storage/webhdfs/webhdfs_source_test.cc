// Tests of reads from a name node and a data node, and of versions that change.

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/base/clock.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/webhdfs/hdfs_root.h"
#include "server/storage/webhdfs/versioned_source.h"
#include "server/storage/webhdfs/webhdfs_protocol.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

namespace forebay::storage::webhdfs {
namespace {

using tests::HasCode;
using tests::IsOk;

class WebHdfsSourceTest {
 protected:
  WebHdfsSourceTest()
      : engine_(*http::Engine::Create()),
        client_(engine_.get(), Options(), 1),
        root_(*HdfsRoot::Create("webhdfs://" + server_.authority() + "/p",
                                {"", "me", ""})),
        ranged_(std::in_place, &client_, &protocol_, nullptr,
                http::RangedSourceOptions{8, 1000}),
        source_(std::in_place, &client_, &*ranged_) {}
  ~WebHdfsSourceTest() { ranged_.reset(); }  // must be destroyed first

  static http::RetryOptions Options() {
    http::RetryOptions options;
    options.attempts = 5;
    options.first_delay_nanos = 0;
    return options;
  }

  ReadRequest Put(const std::string& object, const std::string& content) {
    ReadRequest request;
    request.root = root_;
    request.object = object;
    request.version = server_.Put("/p/" + object, content);
    request.length = content.size();
    return request;
  }

  absl::StatusOr<std::string> Read(ReadRequest request) {
    return ReadText(*source_, std::move(request));
  }

  HdfsServer server_;
  const WebHdfsProtocol protocol_;
  const std::unique_ptr<http::Engine> engine_;
  http::Client client_;
  const std::shared_ptr<const HdfsRoot> root_;
  std::optional<http::RangedSource> ranged_;
  std::optional<VersionedSource> source_;
};

constexpr char kChanged[] =
    "a: was replaced or changed since the dataset was indexed";

TEST_CASE_METHOD(WebHdfsSourceTest,
                 "A WebHDFS source reads ranges from the data node",
                 "[webhdfs][webhdfs_source]") {
  ReadRequest request = Put("a b/ü", "0123456789");
  CHECK(*Read(request) == "0123456789");
  request.offset = 3;
  request.length = 4;
  CHECK(*Read(request) == "3456");
  const http::RequestTarget asked = server_.last_read();
  CHECK(asked.path == "/webhdfs/v1/p/a b/ü");
  CHECK(asked.Field("offset") == "3");
  CHECK(asked.Field("length") == "4");
  CHECK(asked.Field("user.name") == "me");
}

TEST_CASE_METHOD(WebHdfsSourceTest,
                 "A read from WebHDFS gets over each passing fault",
                 "[webhdfs][webhdfs_source]") {
  const std::string content(2500, 'x');
  const ReadRequest request = Put("a", content);
  for (const http::Fault fault :
       {http::Fault::k503, http::Fault::kResetAtOnce, http::Fault::kResetInBody,
        http::Fault::kTruncate}) {
    std::atomic<int> asked = 0;
    const auto faults = server_.SetFaults([&](const HdfsServer::Asked&) {
      return asked++ < 4 ? fault : http::Fault::kNone;
    });
    const auto read = Read(request);
    UNSCOPED_INFO(static_cast<int>(fault) << read.status());
    REQUIRE_THAT(read, IsOk());
    CHECK(*read == content);
  }
}

TEST_CASE_METHOD(
    WebHdfsSourceTest,
    "A WebHDFS source never gives a file that is another than was indexed",
    "[webhdfs][webhdfs_source]") {
  const ReadRequest request = Put("a", std::string(2500, 'a'));
  for (const std::size_t size : {2500, 2600, 10}) {
    server_.Put("/p/a", std::string(size, 'b'));
    CHECK(Read(request).status() == absl::FailedPreconditionError(kChanged));
  }
  server_.Remove("/p/a");
  CHECK(Read(request).status() ==
        absl::NotFoundError("a: was deleted since the dataset was indexed"));
}

TEST_CASE_METHOD(
    WebHdfsSourceTest,
    "A WebHDFS source tells files without numbers apart by their checksum",
    "[webhdfs][webhdfs_source]") {
  server_.ForgetNumbers(true);
  const ReadRequest request = Put("a", std::string(2500, 'a'));
  CHECK(*Read(request) == std::string(2500, 'a'));
  // The new file has the same size and modification time.
  server_.Put("/p/a", std::string(2500, 'b'));
  CHECK(Read(request).status() == absl::FailedPreconditionError(kChanged));
  server_.Put("/p/a", std::string(2500, 'a'));
  CHECK(*Read(request) == std::string(2500, 'a'));
  // For a while, requests for the file's checksum fail.
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&](const HdfsServer::Asked& sent) {
    const bool spoils =
        sent.target.find("CHECKSUM") != sent.target.npos && asked++ < 4;
    return spoils ? http::Fault::kTruncate : http::Fault::kNone;
  });
  CHECK(*Read(request) == std::string(2500, 'a'));
  server_.Remove("/p/a");
  CHECK(Read(request).status() ==
        absl::NotFoundError("a: was deleted since the dataset was indexed"));
}

TEST_CASE_METHOD(
    WebHdfsSourceTest,
    "A WebHDFS source never mixes a file that is replaced amid a read",
    "[webhdfs][webhdfs_source]") {
  const ReadRequest request = Put("a", std::string(9000, 'a'));
  std::atomic<int> asked = 0;
  const auto faults = server_.SetFaults([&](const HdfsServer::Asked&) {
    if (asked++ == 8) server_.Put("/p/a", std::string(9000, 'b'));
    return http::Fault::kNone;
  });
  CHECK(Read(request).status() == absl::FailedPreconditionError(kChanged));
}

TEST_CASE_METHOD(
    WebHdfsSourceTest,
    "A WebHDFS source asks again when an answer about a version is late",
    "[webhdfs][webhdfs_source]") {
  const ReadRequest request = Put("a", "hello");
  base::FakeClock clock;
  const auto engine = *http::Engine::Create({16, &clock});
  http::Client client(engine.get(), Options(), 1);
  http::HedgeOptions soon;
  soon.first_delay_nanos = 10'000'000;
  // Destroyed after the sources that use it.
  std::optional<VersionedSource> versioned;
  http::RangedSource ranged(&client, &protocol_);
  versioned.emplace(&client, &ranged, soon);
  std::latch read(1);
  std::atomic<int> looks = 0;
  const auto faults = server_.SetFaults([&](const HdfsServer::Asked& asked) {
    if (asked.target.find("GETFILESTATUS") != asked.target.npos &&
        looks++ == 0) {
      clock.Advance(soon.first_delay_nanos);
      read.wait();
    }
    return http::Fault::kNone;
  });
  CHECK(*ReadText(*versioned, request) == "hello");
  read.count_down();
  CHECK(looks == 2);
}

TEST_CASE_METHOD(
    WebHdfsSourceTest,
    "An answer that ends early is not a new version of a WebHDFS file",
    "[webhdfs][webhdfs_source]") {
  const ReadRequest request = Put("a", "hello");
  // The data node has fewer bytes of the file than the name node says.
  const http::HttpServer stale(
      [](const HdfsServer::Asked&, http::HttpServer::Peer& peer) {
        peer.Answer(200, "", "hel");
      });
  server_.LeadTo(stale.url());
  CHECK(
      Read(request).status() ==
      absl::UnavailableError("a: the data nodes send less of it than it has"));
  // If an answer has no length, a lost connection looks like the answer's end.
  std::atomic<int> asked = 0;
  const http::HttpServer careless(
      [&](const HdfsServer::Asked&, http::HttpServer::Peer& peer) {
        peer.Send(asked++ == 0 ? "HTTP/1.1 200 OK\r\n\r\nhel"
                               : "HTTP/1.1 200 OK\r\n\r\nhello");
        peer.Close();
      });
  server_.LeadTo(careless.url());
  CHECK(*Read(request) == "hello");
  CHECK(asked == 2);
}

TEST_CASE_METHOD(WebHdfsSourceTest,
                 "A WebHDFS source lets name nodes lead it to web servers only",
                 "[webhdfs][webhdfs_source]") {
  const ReadRequest request = Put("a", "hello");
  for (const char* place : {"file:///etc", "ftp://host", "//host"}) {
    server_.LeadTo(place);
    CAPTURE(place);
    CHECK(Read(request).status() ==
          absl::InvalidArgumentError("a: the name node leads to a place "
                                     "that is not an http or https URL"));
  }
  server_.LeadTo("http://169.254.169.254");
  CHECK_FALSE(Read(request).ok());
  // The name node redirects to itself.
  server_.LeadTo(server_.url());
  CHECK_THAT(Read(request), HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace forebay::storage::webhdfs
