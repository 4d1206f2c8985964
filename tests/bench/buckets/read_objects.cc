// Reads the objects of a bucket, or the files of an HDFS folder, over and over
// as the daemon's source does. Prints the rate after a warm-up, the number of
// requests at once that the source found to be best, and the CPU time.

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "server/storage/byte_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/object_lister.h"
#include "server/storage/webhdfs/versioned_source.h"
#include "tests/cloud/bucket_place.h"

namespace forebay::bench {
namespace {

using storage::ByteSource;
using storage::ListedObject;
using storage::ReadRequest;
using storage::http::Client;
using storage::http::Engine;
using storage::http::RangedSource;
using storage::http::RetryOptions;
using storage::webhdfs::VersionedSource;

// The number of reads in flight, which is more than any link can serve at once.
constexpr int kAhead = 1024;
constexpr std::uint64_t kJob = 1;

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Keeps kAhead reads in flight until End().
class Load {
 public:
  Load(ByteSource* source, std::shared_ptr<const storage::Root> root,
       std::vector<ListedObject> objects)
      : source_(source), root_(std::move(root)), objects_(std::move(objects)) {
    for (int i = 0; i < kAhead; ++i) Next();
  }
  void End() {
    ending_ = true;
    finished_.wait();
  }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t failures() const { return failures_; }

 private:
  void Next() {
    const ListedObject& object = objects_[next_++ % objects_.size()];
    ReadRequest request;
    request.root = root_;
    request.object = object.name;
    request.version = object.version;
    request.length = object.version.size;
    request.purpose.job = kJob;
    request.done = [this](const absl::StatusOr<storage::ReadResult>& result) {
      if (result.ok())
        bytes_ += result->bytes.size();
      else
        ++failures_;
      ending_ ? finished_.count_down() : Next();
    };
    source_->Read({&request, 1});
  }

  ByteSource* const source_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<ListedObject> objects_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
  std::atomic<bool> ending_ = false;
  std::latch finished_{kAhead};
};

void SleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

// Measures the reads of a place, and prints the result. Returns the exit
// status.
int Measure(const std::string& endpoint, const std::string& uri,
            const tests::BucketReader& reader, double warm, double seconds) {
  auto engine = Engine::Create();
  if (!engine.ok()) return Complain(engine.status());
  // The place is destroyed after the client, whose calls use it.
  std::unique_ptr<tests::BucketPlace> place;
  Client client(engine->get(), RetryOptions(), 1);
  auto opened = tests::BucketPlace::Open(endpoint, uri, reader, &client);
  if (!opened.ok()) return Complain(opened.status());
  place = *std::move(opened);
  auto objects = place->List(&client);
  if (!objects.ok()) return Complain(objects.status());
  if (objects->empty()) return Complain(absl::NotFoundError("no objects"));
  // Destroyed after the source that uses it.
  std::unique_ptr<VersionedSource> versioned;
  RangedSource source(&client, place->protocol(), place->authorizer());
  if (!place->tells_versions())
    versioned = std::make_unique<VersionedSource>(&client, &source);
  Load load(versioned == nullptr ? static_cast<ByteSource*>(&source)
                                 : versioned.get(),
            place->root(), *std::move(objects));
  SleepFor(warm);
  const std::uint64_t before = load.bytes();
  const double cpu = CpuSeconds();
  const auto begin = std::chrono::steady_clock::now();
  SleepFor(seconds);
  const std::uint64_t bytes = load.bytes() - before;
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  const double cpu_took = CpuSeconds() - cpu;
  const auto concurrency = static_cast<int>(source.State().concurrency);
  load.End();
  const auto gets = client.ledger().Of(kJob).gets;
  std::printf(
      "{\"bytes\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
      "\"concurrency\": %d, \"requests\": %llu, \"hedges\": %llu, "
      "\"failures\": %llu}\n",
      static_cast<unsigned long long>(bytes), took.count(), cpu_took,
      concurrency, static_cast<unsigned long long>(gets.requests),
      static_cast<unsigned long long>(gets.hedges),
      static_cast<unsigned long long>(load.failures()));
  return 0;
}

}  // namespace
}  // namespace forebay::bench

int main(int argc, char** argv) {
  CLI::App app("Reads a bucket's objects as the daemon does.");
  std::string endpoint;
  std::string uri;
  forebay::tests::BucketReader reader;
  double warm = 10;
  double seconds = 5;
  app.add_option("endpoint", endpoint, "The server's URL")->required();
  app.add_option("uri", uri, "gs:// or s3://BUCKET/PREFIX, or hdfs://HOST/PATH")
      ->required();
  app.add_option("--credentials", reader.credentials,
                 "A file of credentials for S3; else nobody asks");
  app.add_option("--warm", warm, "Seconds before it is measured");
  app.add_option("--seconds", seconds, "Seconds that are measured");
  CLI11_PARSE(app, argc, argv);
  return forebay::bench::Measure(endpoint, uri, reader, warm, seconds);
}
