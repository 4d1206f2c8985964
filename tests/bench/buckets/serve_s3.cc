// Serves a bucket of S3 with objects of random bytes, called by their numbers,
// as a test's server does: faster than those that check signatures. Prints its
// port, and ends when its input does.

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/unit/server/storage/s3/s3_server.h"

int main(int argc, char** argv) {
  CLI::App app("Serves s3://bucket until its input ends.");
  int objects = 1;
  std::size_t bytes = 100'000;
  app.add_option("--objects", objects, "How many there are");
  app.add_option("--bytes", bytes, "Of each");
  CLI11_PARSE(app, argc, argv);
  forebay::storage::s3::S3Server server;
  std::minstd_rand chance(1);
  for (int i = 0; i < objects; ++i) {
    std::string content(bytes, '\0');
    for (char& byte : content) byte = static_cast<char>(chance());
    server.Put(std::to_string(i), std::move(content));
  }
  const std::string url = server.endpoint().url;
  std::printf("%s\n", url.substr(url.rfind(':') + 1).c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
