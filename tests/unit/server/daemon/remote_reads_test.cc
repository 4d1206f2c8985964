#include "server/daemon/remote_reads.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <latch>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/schedule/concurrency_tuner.h"
#include "server/storage/all_job_shares.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/temp_dir.h"
#include "tests/catch/thread_checks.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/gcs/gcs_server.h"
#include "tests/unit/server/storage/http/http_server.h"
#include "tests/unit/server/storage/http/object_server.h"
#include "tests/unit/server/storage/s3/s3_server.h"
#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

namespace forebay::daemon {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// Returns the number of this process's threads that do network I/O.
int NetThreads() {
  int count = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name == "forebay-net") ++count;
  }
  return count;
}

class RemoteReadsTest {
 protected:
  RemoteReadsTest() : reads_(Environment(), &routes_, &shares_) {}

  RemoteEnvironment Environment() const {
    RemoteEnvironment environment;
    environment.emulator_host = bucket_.url();
    environment.s3.settings.endpoint = s3_.endpoint().url;
    environment.hdfs.endpoint = hdfs_.url();
    return environment;
  }

  std::shared_ptr<const storage::Root> Open(const std::string& uri) {
    auto root = reads_.Open(uri, {});
    CHECK_THAT(root, IsOk());
    return *std::move(root);
  }

  absl::StatusOr<std::string> Read(
      const std::shared_ptr<const storage::Root>& root,
      const std::string& object) {
    const auto version = reads_.Stat(*root, object, {});
    if (!version.ok()) return version.status();
    storage::ReadRequest request;
    request.root = root;
    request.object = object;
    request.version = *version;
    request.length = version->size;
    std::promise<absl::StatusOr<std::string>> text;
    request.done = [&text](const absl::StatusOr<storage::ReadResult>& result) {
      if (!result.ok()) return text.set_value(result.status());
      const auto span = result->bytes.span();
      text.set_value(std::string(span.begin(), span.end()));
    };
    routes_.Read({&request, 1});
    return text.get_future().get();
  }

  storage::gcs::GcsServer bucket_;
  storage::http::ObjectServer web_;
  storage::s3::S3Server s3_;
  storage::webhdfs::HdfsServer hdfs_;
  storage::MemorySource local_;
  storage::RoutedSource routes_;
  storage::AllJobShares shares_;
  RemoteReads reads_;
};

TEST_CASE_METHOD(RemoteReadsTest,
                 "Remote reads start no thread and seek no credentials before "
                 "they are needed",
                 "[daemon][remote_reads]") {
  CHECK(NetThreads() == 0);
  CHECK_THAT(reads_.Open("gs://B/x", {}),
             HasCode(absl::StatusCode::kInvalidArgument));
  CHECK(NetThreads() == 0);
  CHECK_THAT(reads_.credentials(), Catch::Equals(""));
  Open("gs://bucket");
  CHECK(NetThreads() == 1);
  CHECK_THAT(reads_.credentials(), Contains("no credentials"));
  CHECK(bucket_.asked() == 0);
}

TEST_CASE_METHOD(RemoteReadsTest, "Remote reads read each place in its own way",
                 "[daemon][remote_reads]") {
  bucket_.Put("p/a b", "in a bucket");
  web_.Put("x", "on the web");
  s3_.Put("p/a b", "in another bucket");
  hdfs_.Put("/p/a b", "in a cluster");
  CHECK(*Read(Open("gs://bucket/p"), "a b") == "in a bucket");
  CHECK(*Read(Open(web_.url()), "x") == "on the web");
  CHECK(*Read(Open("s3://bucket/p"), "a b") == "in another bucket");
  CHECK(*Read(Open("hdfs://anybody/p"), "a b") == "in a cluster");
  int listed = 0;
  CHECK_THAT(reads_.List(*Open("gs://bucket/p"),
                         [&](const storage::ListedObject&) { ++listed; }, {}),
             IsOk());
  CHECK(listed == 1);
  CHECK(NetThreads() == 1);
}

TEST_CASE_METHOD(RemoteReadsTest,
                 "Caps of a job hold up its remote reads of each place",
                 "[daemon][remote_reads]") {
  bucket_.Put("p/a", "in a bucket");
  web_.Put("a", "on the web");
  // The cap is in bytes per second. One read is free as a burst.
  shares_.SetCap(/*job=*/0, 1e-3);
  s3_.Put("p/a", "in another bucket");
  const std::vector<std::string> uris = {"gs://bucket/p", web_.url(),
                                         "s3://bucket/p", "hdfs:///p"};
  hdfs_.Put("/p/a", "in a cluster");
  for (std::size_t i = 0; i < uris.size(); ++i) {
    const auto root = Open(uris[i]);
    CHECK_THAT(Read(root, "a"), IsOk());
    absl::Status read = absl::UnknownError("not read");
    std::jthread held([&] { read = Read(root, "a").status(); });
    while (reads_.States()[i].second.waiting == 0) std::this_thread::yield();
    CHECK(reads_.States()[i].second.in_flight == 0);
    CHECK(reads_.States()[i].first ==
          std::vector<std::string>({"buckets", "web", "s3", "hdfs"})[i]);
    shares_.SetCap(/*job=*/0, std::numeric_limits<double>::infinity());
    held.join();
    CHECK_THAT(read, IsOk());
    shares_.SetCap(/*job=*/0, 1e-3);
  }
}

TEST_CASE_METHOD(RemoteReadsTest,
                 "A remote host that hangs holds up no other host",
                 "[daemon][remote_reads]") {
  // More than the daemon ever requests of a host at once.
  constexpr int kReads = 600;
  storage::http::ObjectServer hung;
  hung.Put("a", "late");
  web_.Put("a", "in time");
  const auto hung_root = Open(hung.url());
  const auto version = reads_.Stat(*hung_root, "a", {});
  std::latch go(1);
  const auto faults =
      hung.SetFaults([&go](const storage::http::HttpServer::Asked&) {
        go.wait();
        return storage::http::Fault::kNone;
      });
  tests::ThreadChecks checks;
  std::latch done(kReads);
  std::vector<storage::ReadRequest> requests(kReads);
  for (storage::ReadRequest& request : requests) {
    request.root = hung_root;
    request.object = "a";
    request.version = *version;
    request.length = version->size;
    request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
      checks.CheckOk(result.status());
      done.count_down();
    };
  }
  routes_.Read(absl::MakeSpan(requests));
  const auto root = Open(web_.url());
  for (int i = 0; i < 100; ++i) CHECK(*Read(root, "a") == "in time");
  // The state is the sum of those of both hosts.
  const auto left = [this] {
    const storage::SourceState state = reads_.States()[0].second;
    CHECK(state.concurrency == 2 * schedule::ConcurrencyTunerOptions().initial);
    return state.in_flight + state.stalled + state.waiting;
  };
  while (left() != kReads) std::this_thread::yield();
  go.count_down();
  done.wait();
}

TEST_CASE_METHOD(
    RemoteReadsTest,
    "A caller that waits for another's search for credentials may stop",
    "[daemon][remote_reads]") {
  std::latch asked(1);
  std::latch go(1);
  const storage::http::HttpServer metadata(
      [&](const storage::http::HttpServer::Asked&,
          storage::http::HttpServer::Peer& peer) {
        // A client whose answer has begun waits longer than a client without an
        // answer.
        peer.Send("HTTP/1.1 200 Answer\r\nContent-Length: 4\r\n\r\n");
        asked.count_down();
        go.wait();
        peer.Send("done");
      });
  RemoteEnvironment environment = Environment();
  environment.credentials.metadata_host = metadata.url().substr(7);
  RemoteReads reads(environment, &routes_, &shares_);
  auto first = std::async(std::launch::async,
                          [&] { return reads.Open("gs://bucket", {}); });
  asked.wait();
  std::stop_source stop;
  auto second = std::async(std::launch::async, [&] {
    return reads.Open("gs://bucket", stop.get_token());
  });
  // An opening that needs no credentials does not wait for the search, either.
  CHECK_THAT(reads.Open(web_.url(), {}), IsOk());
  stop.request_stop();
  CHECK(second.get().status() ==
        absl::CancelledError("gs://bucket: was not opened"));
  go.count_down();
  CHECK_THAT(first.get(), IsOk());
}

TEST_CASE_METHOD(RemoteReadsTest,
                 "Remote reads refuse other places and malformed addresses",
                 "[daemon][remote_reads]") {
  for (const char* uri :
       {"s3://b/x", "s3://", "s3://a_b_/x", "hdfs://host/../x", "webhdfs://",
        "ftp://host/x", "gs://", "gs://a/", "http://", "http://u:p@host/",
        "http://host/?a", "http://169.254.169.254/x"}) {
    const absl::Status status = reads_.Open(uri, {}).status();
    CAPTURE(uri);
    CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
    CHECK_THAT(status.message(), Contains(uri));
  }
  CHECK_THAT(reads_.List(*local_.root(), {}, {}),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(RemoteReadsTest,
                 "A storage emulator sees only credentials named for it",
                 "[daemon][remote_reads]") {
  setenv("HOME", "/home/somebody", 1);
  unsetenv("STORAGE_EMULATOR_HOST");
  unsetenv("GCE_METADATA_HOST");
  RemoteEnvironment real = RemoteEnvironment::OfProcess();
  CHECK_THAT(real.emulator_host, Catch::Equals(""));
  CHECK_FALSE(real.credentials.gcloud.empty());
  CHECK_FALSE(real.credentials.metadata_host.empty());
  setenv("STORAGE_EMULATOR_HOST", "localhost:4443", 1);
  setenv("GOOGLE_APPLICATION_CREDENTIALS", "/key.json", 1);
  RemoteEnvironment emulated = RemoteEnvironment::OfProcess();
  CHECK(emulated.emulator_host == "localhost:4443");
  CHECK(emulated.credentials.key_file == "/key.json");
  CHECK_THAT(emulated.credentials.gcloud, Catch::Equals(""));
  CHECK_THAT(emulated.credentials.metadata_host, Catch::Equals(""));
  setenv("GCE_METADATA_HOST", "127.0.0.1:1", 1);
  CHECK(RemoteEnvironment::OfProcess().credentials.metadata_host ==
        "127.0.0.1:1");
}

// The metadata server may come up after the daemon, which then has no
// credentials yet.
TEST_CASE_METHOD(
    RemoteReadsTest,
    "Remote reads look for credentials again where there were none",
    "[daemon][remote_reads]") {
  std::atomic<bool> there = false;
  const storage::http::HttpServer metadata(
      [&](const storage::http::HttpServer::Asked&,
          storage::http::HttpServer::Peer& peer) {
        if (!there) return peer.Answer(404, "", "");
        peer.Answer(200, "Metadata-Flavor: Google\r\n",
                    R"({"access_token": "t1", "expires_in": 3599,
                        "token_type": "Bearer"})");
      });
  bucket_.Put("a", "for members");
  bucket_.SetToken("t1");
  RemoteEnvironment environment = Environment();
  environment.credentials.metadata_host = metadata.url().substr(7);
  base::FakeClock clock;
  RemoteReads reads(environment, &routes_, &shares_, &clock);
  const auto find = [&reads] {
    const auto root = reads.Open("gs://bucket", {});
    return reads.Stat(**root, "a", {}).status();
  };
  CHECK_THAT(find(), HasCode(absl::StatusCode::kPermissionDenied));
  there = true;
  CHECK_THAT(find(), HasCode(absl::StatusCode::kPermissionDenied));
  clock.Advance(61'000'000'000);
  CHECK_THAT(find(), IsOk());
  CHECK_THAT(reads.credentials(), Contains("metadata server"));
}

TEST_CASE_METHOD(RemoteReadsTest,
                 "An HDFS token is read when a dataset is opened",
                 "[daemon][remote_reads]") {
  hdfs_.Put("/p/a", "for members");
  hdfs_.SetToken("token 1");
  RemoteEnvironment environment = Environment();
  environment.hdfs.token_file = tests::TempDir() + "/hdfs_token";
  std::filesystem::remove(environment.hdfs.token_file);
  RemoteReads reads(environment, &routes_, &shares_);
  CHECK(reads.Open("hdfs:///p", {}).status() ==
        absl::NotFoundError("hdfs:///p: " + environment.hdfs.token_file +
                            ": No such file or directory"));
  std::ofstream(environment.hdfs.token_file) << "token 1\n";
  CHECK_THAT(reads.Stat(**reads.Open("hdfs:///p", {}), "a", {}), IsOk());
}

TEST_CASE_METHOD(RemoteReadsTest, "Remote reads tell of unusable credentials",
                 "[daemon][remote_reads]") {
  RemoteEnvironment environment = Environment();
  environment.credentials.key_file = "/nowhere/key.json";
  RemoteReads reads(environment, &routes_, &shares_);
  CHECK(reads.Open("gs://bucket/p", {}).status() ==
        absl::NotFoundError("gs://bucket/p: /nowhere/key.json: No such "
                            "file or directory"));
}

TEST_CASE_METHOD(RemoteReadsTest,
                 "S3 buckets are read with the credentials of the moment",
                 "[daemon][remote_reads]") {
  s3_.Put("a", "for members");
  s3_.SetKeys({"AKIA1", "secret", "token"});
  RemoteEnvironment environment = Environment();
  const std::string file = tests::TempDir() + "/s3_credentials";
  std::filesystem::remove(file);
  environment.s3.environment.credentials_file = file;
  RemoteReads reads(environment, &routes_, &shares_);
  const auto find = [&reads] {
    const auto root = reads.Open("s3://bucket", {});
    return root.ok() ? reads.Stat(**root, "a", {}).status() : root.status();
  };
  CHECK_THAT(find().message(), Contains("no credentials"));
  std::ofstream(file) << "[default]\naws_access_key_id = AKIA1\n"
                         "aws_secret_access_key = s\n"
                         "aws_session_token = token\n";
  CHECK_THAT(find(), IsOk());
  CHECK(reads.credentials() == "the profile [default] of " + file);
  std::ofstream(file) << "[default]\n";
  CHECK_THAT(find(), HasCode(absl::StatusCode::kInvalidArgument));
  environment.s3.settings.region = "No region";
  RemoteReads broken(environment, &routes_, &shares_);
  CHECK(broken.Open("s3://bucket", {}).status() ==
        absl::InvalidArgumentError(
            "s3://bucket: no region is called \"No region\""));
}

}  // namespace
}  // namespace forebay::daemon
