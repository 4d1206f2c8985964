// Decompresses ranges of a compressed file by zlib or zstd alone, on several
// threads. Each range is decompressed from the access point before it. Prints
// the time taken. Each line of standard input is a range: its offset and length
// in the decompressed file.

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "server/base/check.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/compression.h"
#include "server/storage/compressed/scan_of.h"

namespace forebay::bench {
namespace {

using storage::compressed::Compression;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kAmple = std::uint64_t{1} << 30;  // bytes

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct Point {
  std::uint64_t offset = 0;
  std::uint64_t bit = 0;
  Bytes window;
};

std::vector<Point> PointsOf(const Bytes& file, Compression compression) {
  base::MemoryBudget budget(kAmple);
  base::WorkingMemory memory(&budget, "a scan");
  const auto scan = storage::compressed::ScanOf(compression, &memory);
  FOREBAY_CHECK(scan.ok());
  std::vector<Point> points;
  const absl::Status status = (*scan)->Take(
      file, [](absl::Span<const std::uint8_t>) { return absl::OkStatus(); },
      [&](const storage::compressed::ScanPoint& found) {
        points.push_back({found.offset,
                          found.bit,
                          {found.window.begin(), found.window.end()}});
        return absl::OkStatus();
      });
  FOREBAY_CHECK(status.ok());
  return points;
}

void InflateZstd(const Bytes& file, const Point& point, const Range& range,
                 ZSTD_DCtx* context, Bytes& skipped, Bytes& out) {
  ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
  ZSTD_inBuffer in = {file.data(), file.size(), point.bit / 8};
  const auto fill = [&](void* bytes, std::size_t length) {
    ZSTD_outBuffer made = {bytes, length, 0};
    while (made.pos < length) {
      FOREBAY_CHECK(ZSTD_isError(ZSTD_decompressStream(context, &made, &in)) ==
                    0);
    }
  };
  for (std::uint64_t skip = range.offset - point.offset; skip > 0;) {
    const std::uint64_t some = std::min<std::uint64_t>(skip, skipped.size());
    fill(skipped.data(), some);
    skip -= some;
  }
  out.resize(range.length);
  fill(out.data(), out.size());
}

void Inflate(const Bytes& file, const Point& point, const Range& range,
             Bytes& skipped, Bytes& out) {
  z_stream stream = {};
  std::uint64_t at = point.bit / 8;
  if (point.window.empty()) {
    FOREBAY_CHECK(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
  } else {
    FOREBAY_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
    const int bits = static_cast<int>(point.bit % 8);
    if (bits > 0) inflatePrime(&stream, 8 - bits, file[at++] >> bits);
    inflateSetDictionary(&stream, point.window.data(),
                         static_cast<uInt>(point.window.size()));
  }
  stream.next_in = const_cast<Bytef*>(file.data() + at);
  stream.avail_in = static_cast<uInt>(file.size() - at);
  std::uint64_t skip = range.offset - point.offset;
  while (skip > 0) {
    stream.next_out = skipped.data();
    stream.avail_out =
        static_cast<uInt>(std::min<std::uint64_t>(skip, skipped.size()));
    skip -= stream.avail_out;
    FOREBAY_CHECK(inflate(&stream, Z_NO_FLUSH) == Z_OK &&
                  stream.avail_out == 0);
  }
  out.resize(range.length);
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  inflate(&stream, Z_NO_FLUSH);
  FOREBAY_CHECK(stream.avail_out == 0);
  inflateEnd(&stream);
}

void Run(const std::string& path, int threads) {
  std::ifstream stream(path, std::ios::binary);
  const Bytes file((std::istreambuf_iterator<char>(stream)), {});
  const auto compression = storage::compressed::CompressionOf(file);
  FOREBAY_CHECK(compression.has_value() && compression != Compression::kZlib);
  const std::vector<Point> points = PointsOf(file, *compression);
  std::vector<Range> ranges;
  for (Range range; std::cin >> range.offset >> range.length;)
    ranges.push_back(range);
  std::atomic<std::size_t> next = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      Bytes skipped(std::size_t{128} << 10);
      Bytes out;
      ZSTD_DCtx* const context = ZSTD_createDCtx();
      for (std::size_t k = next++; k < ranges.size(); k = next++) {
        const auto after =
            std::upper_bound(points.begin(), points.end(), ranges[k].offset,
                             [](std::uint64_t offset, const Point& point) {
                               return offset < point.offset;
                             });
        const Point& point = *(after - 1);
        if (compression == Compression::kZstd)
          InflateZstd(file, point, ranges[k], context, skipped, out);
        else
          Inflate(file, point, ranges[k], skipped, out);
      }
      ZSTD_freeDCtx(context);
    });
  }
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  std::printf("{\"samples\": %zu, \"seconds\": %.6f}\n", ranges.size(),
              took.count());
}

}  // namespace
}  // namespace forebay::bench

int main(int argc, char** argv) {
  CLI::App app("inflate_ranges");
  std::string file;
  int threads = 1;
  app.add_option("file", file)->required();
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  forebay::bench::Run(file, threads);
  return 0;
}
