// Serves objects of random bytes, named by their numbers, by a test's server.
// That server is faster than real ones because it checks no signatures. Prints
// its port, and ends when its standard input does.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "tests/unit/server/storage/s3/s3_server.h"
#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

namespace forebay::bench {
namespace {

struct Options {
  std::string kind;
  int objects = 1;
  std::size_t bytes = 100'000;
};

// Stores the objects, and serves them at `url` until standard input ends.
void Serve(const Options& options, const std::string& url,
           const std::function<void(std::string, std::string)>& put) {
  std::minstd_rand chance(1);
  for (int i = 0; i < options.objects; ++i) {
    std::string content(options.bytes, '\0');
    for (char& byte : content) byte = static_cast<char>(chance());
    put(std::to_string(i), std::move(content));
  }
  std::printf("%s\n", url.substr(url.rfind(':') + 1).c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

void ServeS3(const Options& options) {
  storage::s3::S3Server server;
  Serve(options, server.endpoint().url,
        [&](const std::string& name, std::string content) {
          server.Put(name, std::move(content));
        });
}

void ServeHdfs(const Options& options) {
  storage::webhdfs::HdfsServer server;
  server.BeGateway();
  Serve(options, server.url(),
        [&](const std::string& name, std::string content) {
          server.Put("/bucket/" + name, std::move(content));
        });
}

}  // namespace
}  // namespace forebay::bench

int main(int argc, char** argv) {
  CLI::App app(
      "Serves s3://bucket, or a folder of HDFS, until its input ends.");
  forebay::bench::Options options;
  app.add_option("kind", options.kind, "s3, or hdfs: /bucket of a gateway")
      ->required()
      ->check(CLI::IsMember({"s3", "hdfs"}));
  app.add_option("--objects", options.objects, "How many there are");
  app.add_option("--bytes", options.bytes, "Of each");
  CLI11_PARSE(app, argc, argv);
  options.kind == "s3" ? forebay::bench::ServeS3(options)
                       : forebay::bench::ServeHdfs(options);
  return 0;
}
