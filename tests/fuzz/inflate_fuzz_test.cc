// Fuzzes the scan of compressed files. The scan finds the same bytes, whatever
// the sizes of the pieces that it gets. A read from each access point gives
// what the scan found there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/inflate_reader.h"
#include "server/storage/compressed/inflate_scan.h"
#include "server/storage/compressed/scratch_pool.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

using forebay::base::AmpleBudget;
using forebay::base::WorkingMemory;
using forebay::fuzz::Require;
using forebay::storage::compressed::AccessPoint;
using forebay::storage::compressed::Compression;
using forebay::storage::compressed::InflateReader;
using forebay::storage::compressed::InflateScan;
using forebay::storage::compressed::kWindowBytes;
using forebay::storage::compressed::ScanPoint;
using forebay::storage::compressed::ScratchPool;
using Bytes = absl::Span<const std::uint8_t>;

// The most bytes of decompressed content, enough for several access points.
constexpr std::size_t kMostDecompressed = std::size_t{4} << 20;

struct Point {
  AccessPoint point;
  std::vector<std::uint8_t> window;
};

struct Result {
  absl::Status status;
  std::vector<std::uint8_t> text;
  std::vector<Point> points;
};

Result Scan(Compression compression, Bytes compressed, std::size_t piece) {
  Result result;
  WorkingMemory memory(AmpleBudget(), "a scan");
  const auto scan = InflateScan::Create(compression, &memory);
  Require(scan.ok());
  const auto keep = [&](const ScanPoint& found) {
    Require(found.window.size() <= kWindowBytes &&
            found.offset <= result.text.size());
    result.points.push_back(
        {{.offset = found.offset,
          .bit = found.bit,
          .window_bytes = static_cast<std::uint32_t>(found.window.size())},
         {found.window.begin(), found.window.end()}});
    return absl::OkStatus();
  };
  for (std::size_t at = 0; at < compressed.size() && result.status.ok();
       at += piece) {
    result.status = (*scan)->Take(
        compressed.subspan(at, piece),
        [&](Bytes bytes) {
          result.text.insert(result.text.end(), bytes.begin(), bytes.end());
          return result.text.size() <= kMostDecompressed
                     ? absl::OkStatus()
                     : absl::CancelledError("is enough");
        },
        keep);
  }
  if (result.status.ok()) result.status = (*scan)->Finish(keep);
  return result;
}

void ReadFrom(Compression compression, Bytes compressed, const Result& scanned,
              const Point& from) {
  const std::uint64_t begin = from.point.offset + 1;
  if (begin >= scanned.text.size()) return;
  std::vector<std::uint8_t> out(
      std::min<std::size_t>(100'000, scanned.text.size() - begin));
  auto reader = InflateReader::Create(compression, from.point, from.window,
                                      begin, absl::MakeSpan(out),
                                      std::make_shared<ScratchPool>());
  Require(reader.ok());
  Bytes rest = compressed.subspan(InflateReader::BeginOf(from.point));
  while (!(*reader)->done() && (!rest.empty() || (*reader)->pending())) {
    const auto took =
        (*reader)->Take(rest.first(std::min<std::size_t>(rest.size(), 1000)));
    if (!took.ok()) break;
    Require(*took > 0 || rest.empty());
    rest.remove_prefix(*took);
  }
  Require((*reader)->done());
  Require(
      std::equal(out.begin(), out.end(),
                 scanned.text.begin() + static_cast<std::ptrdiff_t>(begin)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 1) return 0;
  const Compression compression =
      (data[0] & 1) == 0 ? Compression::kGzip : Compression::kZlib;
  const Bytes compressed(data + 1, size - 1);
  const Result whole = Scan(compression, compressed, compressed.size());
  const Result pieces = Scan(compression, compressed, 1 + data[0] / 2);
  Require(whole.status.ok() == pieces.status.ok());
  if (whole.text.size() <= kMostDecompressed)
    Require(whole.text == pieces.text);
  if (!whole.status.ok() && !absl::IsCancelled(whole.status)) return 0;
  for (const Point& point : whole.points)
    ReadFrom(compression, compressed, whole, point);
  return 0;
}
