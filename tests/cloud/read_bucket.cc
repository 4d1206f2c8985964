// Lists a bucket once, and then reads all of its objects several times as the
// daemon's source does, with the timeouts of a test. Prints a line of JSON for
// each object read: {"round", "name", "size", "sha256"} or {"round", "name",
// "error"}. At the end prints which requests were made.

#include <openssl/sha.h>

#include <cstdint>
#include <cstdio>
#include <latch>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "server/storage/byte_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/object_lister.h"
#include "tests/cloud/bucket_place.h"

namespace forebay::tests {
namespace {

using Json = nlohmann::json;
using storage::ListedObject;
using storage::ReadRequest;
using storage::http::Client;
using storage::http::Engine;
using storage::http::RangedSource;

constexpr std::int64_t kMillis = 1'000'000;
constexpr std::uint64_t kJob = 5;

struct Options {
  std::string endpoint;
  std::string uri;
  BucketReader reader;
  int rounds = 1;
  std::uint64_t part_bytes = 8 << 20;
};

void Print(const Json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

std::string Sha256(absl::Span<const std::uint8_t> bytes) {
  std::uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256(bytes.data(), bytes.size(), digest);
  std::string hex;
  for (const std::uint8_t byte : digest) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hex += digits;
  }
  return hex;
}

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

// Reads all objects at once, and prints each result on the engine's thread.
void ReadAll(RangedSource* source,
             const std::shared_ptr<const storage::Root>& root,
             const std::vector<ListedObject>& objects, int round) {
  std::latch finished(static_cast<std::ptrdiff_t>(objects.size()));
  std::vector<ReadRequest> requests(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    requests[i].root = root;
    requests[i].object = objects[i].name;
    requests[i].version = objects[i].version;
    requests[i].length = objects[i].version.size;
    requests[i].purpose.job = kJob;
    requests[i].done = [&finished, round, name = objects[i].name](
                           const absl::StatusOr<storage::ReadResult>& result) {
      Json line = {{"round", round}, {"name", name}};
      if (result.ok()) {
        line["size"] = result->bytes.size();
        line["sha256"] = Sha256(result->bytes.span());
      } else {
        line["error"] = result.status().ToString();
      }
      Print(line);
      finished.count_down();
    };
  }
  source->Read(absl::MakeSpan(requests));
  finished.wait();
}

Json ToJson(const storage::http::RequestCounts& counts) {
  return {{"requests", counts.requests},
          {"retries", counts.retries},
          {"hedges", counts.hedges},
          {"failures", counts.failures},
          {"bytes", counts.bytes}};
}

// Returns retry options with short delays, because the faults of tests pass
// soon.
storage::http::RetryOptions Retries() {
  storage::http::RetryOptions options;
  options.first_delay_nanos = 10 * kMillis;
  options.max_delay_nanos = 10'000 * kMillis;
  options.retries_per_second = 1e4;
  options.retry_burst = 1e4;
  return options;
}

// Lists and reads the bucket as `options` say. Returns the exit status.
int Run(const Options& options) {
  auto engine = Engine::Create();
  if (!engine.ok()) return Complain(engine.status());

  // The place is destroyed after the client, whose calls use it.
  std::unique_ptr<BucketPlace> place;
  Client client(engine->get(), Retries(), 1);
  auto opened =
      BucketPlace::Open(options.endpoint, options.uri, options.reader, &client);
  if (!opened.ok()) return Complain(opened.status());
  place = *std::move(opened);
  const auto objects = place->List(&client);
  if (!objects.ok()) return Complain(objects.status());

  storage::http::RangedSourceOptions source_options;
  source_options.part_bytes = options.part_bytes;
  source_options.timeouts.window_nanos = 500 * kMillis;
  {
    RangedSource source(&client, place->protocol(), place->authorizer(),
                        source_options);
    for (int round = 0; round < options.rounds; ++round)
      ReadAll(&source, place->root(), *objects, round);
  }
  const auto asked = client.ledger().Of(kJob);
  const auto of_all = client.ledger().Of(0);
  Print({{"gets", ToJson(asked.gets)}, {"lists", ToJson(of_all.lists)}});
  return 0;
}

}  // namespace
}  // namespace forebay::tests

int main(int argc, char** argv) {
  CLI::App app("Reads a bucket's objects as the daemon does.");
  forebay::tests::Options options;
  app.add_option("endpoint", options.endpoint, "The server's URL")->required();
  app.add_option("uri", options.uri, "gs:// or s3://BUCKET/PREFIX")->required();
  app.add_option("--rounds", options.rounds, "How often all is read");
  app.add_option("--part-bytes", options.part_bytes, "Of a request, at most");
  app.add_option("--metadata", options.reader.metadata_host,
                 "HOST:PORT of a metadata server; else nobody asks");
  app.add_option("--credentials", options.reader.credentials,
                 "A file of credentials for S3; else nobody asks");
  CLI11_PARSE(app, argc, argv);
  return forebay::tests::Run(options);
}
