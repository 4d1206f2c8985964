#include "server/daemon/remote_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/gcs/gcs_server.h"
#include "tests/unit/server/storage/http/http_server.h"
#include "tests/unit/server/storage/http/object_server.h"
#include "tests/unit/server/storage/s3/s3_server.h"
#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

namespace forebay::daemon {
namespace {

using ::testing::HasSubstr;

// Threads of this process that the network has.
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

class RemoteReadsTest : public ::testing::Test {
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
    EXPECT_TRUE(root.ok()) << root.status();
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

TEST_F(RemoteReadsTest, NothingIsThereBeforeItIsNeeded) {
  EXPECT_EQ(NetThreads(), 0);
  EXPECT_EQ(reads_.Open("gs://B/x", {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(NetThreads(), 0);
  EXPECT_EQ(reads_.credentials(), "");
  Open("gs://bucket");
  EXPECT_EQ(NetThreads(), 1);
  EXPECT_THAT(reads_.credentials(), HasSubstr("no credentials"));
  EXPECT_EQ(bucket_.asked(), 0);
}

TEST_F(RemoteReadsTest, EachPlaceIsReadInItsOwnWay) {
  bucket_.Put("p/a b", "in a bucket");
  web_.Put("x", "on the web");
  s3_.Put("p/a b", "in another bucket");
  hdfs_.Put("/p/a b", "in a cluster");
  EXPECT_EQ(*Read(Open("gs://bucket/p"), "a b"), "in a bucket");
  EXPECT_EQ(*Read(Open(web_.url()), "x"), "on the web");
  EXPECT_EQ(*Read(Open("s3://bucket/p"), "a b"), "in another bucket");
  EXPECT_EQ(*Read(Open("hdfs://anybody/p"), "a b"), "in a cluster");
  int listed = 0;
  EXPECT_TRUE(reads_
                  .List(*Open("gs://bucket/p"),
                        [&](const storage::ListedObject&) { ++listed; }, {})
                  .ok());
  EXPECT_EQ(listed, 1);
  EXPECT_EQ(NetThreads(), 1);
}

TEST_F(RemoteReadsTest, CapsHoldUpTheReadsOfEachPlace) {
  bucket_.Put("p/a", "in a bucket");
  web_.Put("a", "on the web");
  shares_.SetCap(/*job=*/0, 1e-3);  // bytes a second, after a burst of a read
  s3_.Put("p/a", "in another bucket");
  const std::vector<std::string> uris = {"gs://bucket/p", web_.url(),
                                         "s3://bucket/p", "hdfs:///p"};
  hdfs_.Put("/p/a", "in a cluster");
  for (std::size_t i = 0; i < uris.size(); ++i) {
    const auto root = Open(uris[i]);
    EXPECT_TRUE(Read(root, "a").ok());
    std::thread held([&] { EXPECT_TRUE(Read(root, "a").ok()); });
    while (reads_.States()[i].second.waiting == 0) std::this_thread::yield();
    EXPECT_EQ(reads_.States()[i].second.in_flight, 0);
    EXPECT_EQ(reads_.States()[i].first,
              std::vector<std::string>({"buckets", "web", "s3", "hdfs"})[i]);
    shares_.SetCap(/*job=*/0, std::numeric_limits<double>::infinity());
    held.join();
    shares_.SetCap(/*job=*/0, 1e-3);
  }
}

TEST_F(RemoteReadsTest, AHostThatHangsHoldsUpNoOther) {
  constexpr int kReads = 600;  // more than one host is ever asked at once
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
  std::latch done(kReads);
  std::vector<storage::ReadRequest> requests(kReads);
  for (storage::ReadRequest& request : requests) {
    request.root = hung_root;
    request.object = "a";
    request.version = *version;
    request.length = version->size;
    request.done = [&done](const absl::StatusOr<storage::ReadResult>& result) {
      EXPECT_TRUE(result.ok()) << result.status();
      done.count_down();
    };
  }
  routes_.Read(absl::MakeSpan(requests));
  const auto root = Open(web_.url());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*Read(root, "a"), "in time");
  // The sums of both hosts.
  const auto left = [this] {
    const storage::SourceState state = reads_.States()[0].second;
    EXPECT_EQ(state.concurrency,
              2 * schedule::ConcurrencyTunerOptions().initial);
    return state.in_flight + state.stalled + state.waiting;
  };
  while (left() != kReads) std::this_thread::yield();
  go.count_down();
  done.wait();
}

TEST_F(RemoteReadsTest, WhoWaitsForAnothersLookMayStop) {
  std::latch asked(1);
  std::latch go(1);
  const storage::http::HttpServer metadata(
      [&](const storage::http::HttpServer::Asked&,
          storage::http::HttpServer::Peer& peer) {
        // An answer that has begun is awaited for longer.
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
  // Nor does it wait for what has nothing to do with credentials.
  EXPECT_TRUE(reads.Open(web_.url(), {}).ok());
  stop.request_stop();
  EXPECT_EQ(second.get().status(),
            absl::CancelledError("gs://bucket: was not opened"));
  go.count_down();
  EXPECT_TRUE(first.get().ok());
}

TEST_F(RemoteReadsTest, OtherPlacesAreRefused) {
  for (const char* uri :
       {"s3://b/x", "s3://", "s3://a_b_/x", "hdfs://host/../x", "webhdfs://",
        "ftp://host/x", "gs://", "gs://a/", "http://", "http://u:p@host/",
        "http://host/?a", "http://169.254.169.254/x"}) {
    const absl::Status status = reads_.Open(uri, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << uri;
    EXPECT_THAT(std::string(status.message()), HasSubstr(uri));
  }
  EXPECT_EQ(reads_.List(*local_.root(), {}, {}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RemoteReadsTest, AnEmulatorSeesOnlyCredentialsNamedForIt) {
  setenv("HOME", "/home/somebody", 1);
  unsetenv("STORAGE_EMULATOR_HOST");
  unsetenv("GCE_METADATA_HOST");
  RemoteEnvironment real = RemoteEnvironment::OfProcess();
  EXPECT_EQ(real.emulator_host, "");
  EXPECT_NE(real.credentials.gcloud, "");
  EXPECT_NE(real.credentials.metadata_host, "");
  setenv("STORAGE_EMULATOR_HOST", "localhost:4443", 1);
  setenv("GOOGLE_APPLICATION_CREDENTIALS", "/key.json", 1);
  RemoteEnvironment emulated = RemoteEnvironment::OfProcess();
  EXPECT_EQ(emulated.emulator_host, "localhost:4443");
  EXPECT_EQ(emulated.credentials.key_file, "/key.json");
  EXPECT_EQ(emulated.credentials.gcloud, "");
  EXPECT_EQ(emulated.credentials.metadata_host, "");
  setenv("GCE_METADATA_HOST", "127.0.0.1:1", 1);
  EXPECT_EQ(RemoteEnvironment::OfProcess().credentials.metadata_host,
            "127.0.0.1:1");
}

// As on a host whose metadata server comes after the daemon.
TEST_F(RemoteReadsTest, WhereThereWereNoCredentialsTheyAreLookedForAgain) {
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
  EXPECT_EQ(find().code(), absl::StatusCode::kPermissionDenied);
  there = true;
  EXPECT_EQ(find().code(), absl::StatusCode::kPermissionDenied);
  clock.Advance(61'000'000'000);
  EXPECT_TRUE(find().ok()) << find();
  EXPECT_THAT(reads.credentials(), HasSubstr("metadata server"));
}

TEST_F(RemoteReadsTest, ATokenIsReadWhereADatasetIsOpened) {
  hdfs_.Put("/p/a", "for members");
  hdfs_.SetToken("token 1");
  RemoteEnvironment environment = Environment();
  environment.hdfs.token_file = ::testing::TempDir() + "/hdfs_token";
  std::filesystem::remove(environment.hdfs.token_file);
  RemoteReads reads(environment, &routes_, &shares_);
  EXPECT_EQ(reads.Open("hdfs:///p", {}).status(),
            absl::NotFoundError("hdfs:///p: " + environment.hdfs.token_file +
                                ": No such file or directory"));
  std::ofstream(environment.hdfs.token_file) << "token 1\n";
  EXPECT_TRUE(reads.Stat(**reads.Open("hdfs:///p", {}), "a", {}).ok());
}

TEST_F(RemoteReadsTest, UnusableCredentialsAreTold) {
  RemoteEnvironment environment = Environment();
  environment.credentials.key_file = "/nowhere/key.json";
  RemoteReads reads(environment, &routes_, &shares_);
  EXPECT_EQ(reads.Open("gs://bucket/p", {}).status(),
            absl::NotFoundError("gs://bucket/p: /nowhere/key.json: No such "
                                "file or directory"));
}

TEST_F(RemoteReadsTest, BucketsOfS3AreReadWithTheCredentialsOfTheMoment) {
  s3_.Put("a", "for members");
  s3_.SetKeys({"AKIA1", "secret", "token"});
  RemoteEnvironment environment = Environment();
  const std::string file = ::testing::TempDir() + "/s3_credentials";
  std::filesystem::remove(file);
  environment.s3.environment.credentials_file = file;
  RemoteReads reads(environment, &routes_, &shares_);
  const auto find = [&reads] {
    const auto root = reads.Open("s3://bucket", {});
    return root.ok() ? reads.Stat(**root, "a", {}).status() : root.status();
  };
  EXPECT_THAT(std::string(find().message()), HasSubstr("no credentials"));
  std::ofstream(file) << "[default]\naws_access_key_id = AKIA1\n"
                         "aws_secret_access_key = s\n"
                         "aws_session_token = token\n";
  EXPECT_TRUE(find().ok()) << find();
  EXPECT_EQ(reads.credentials(), "the profile [default] of " + file);
  std::ofstream(file) << "[default]\n";
  EXPECT_EQ(find().code(), absl::StatusCode::kInvalidArgument);
  environment.s3.settings.region = "No region";
  RemoteReads broken(environment, &routes_, &shares_);
  EXPECT_EQ(broken.Open("s3://bucket", {}).status(),
            absl::InvalidArgumentError(
                "s3://bucket: no region is called \"No region\""));
}

}  // namespace
}  // namespace forebay::daemon
