// The floor under every JPEG pipeline: bare libjpeg-turbo decodes the same
// crops from memory, on the same number of threads. Prints one JSON object.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "tests/bench/bare_jpeg.h"

namespace {

using forebay::bench::BareJpeg;
using forebay::bench::Crop;
using forebay::bench::Output;

// Returns the images per second of one pass over all crops.
double Pass(const std::vector<Crop>& crops, int threads, Output output) {
  std::atomic<std::size_t> next{0};
  const auto work = [&crops, &next, output] {
    BareJpeg jpeg;
    for (std::size_t i; (i = next.fetch_add(1)) < crops.size();) {
      jpeg.Decode(crops[i], output);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work);
  for (std::thread& thread : pool) thread.join();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  return static_cast<double>(crops.size()) / took.count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Decodes crops of JPEGs with bare libjpeg-turbo.");
  std::string file = "-";
  int threads = 1;
  int passes = 5;
  std::uint32_t side = 0;
  app.add_option("crops", file,
                 "Lines \"path left top width height\"; - is standard input");
  app.add_option("--threads", threads, "Threads, at least 1 (default 1)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--passes", passes,
                 "Passes of each mode, alternating; the median counts "
                 "(default 5)")
      ->check(CLI::Range(1, 1000));
  app.add_option(
      "--shrink-to", side,
      "Decode each crop at 1/8, 1/4 or 1/2 of its size, as far as it "
      "stays so large (default: at its size)");
  CLI11_PARSE(app, argc, argv);

  std::vector<Crop> crops = forebay::bench::LoadCrops(file);
  if (side > 0) forebay::bench::Reduce(crops, side);
  std::vector<double> whole;
  std::vector<double> row;
  Pass(crops, threads, Output::kReusedRow);  // warms caches and clocks
  for (int i = 0; i < passes; ++i) {
    whole.push_back(Pass(crops, threads, Output::kWholeImage));
    row.push_back(Pass(crops, threads, Output::kReusedRow));
  }
  std::printf(
      "{\"images\": %zu, \"threads\": %d, \"whole_image_per_s\": %.1f, "
      "\"reused_row_per_s\": %.1f}\n",
      crops.size(), threads, Median(whole), Median(row));
  return 0;
}
