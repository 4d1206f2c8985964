// Fuzzes the scan of zstd files. The scan finds the same bytes and stores the
// same pieces, whatever the sizes of the pieces that it gets. A read from each
// access point gives what the scan found there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/compressed_scan.h"
#include "server/storage/compressed/scratch_pool.h"
#include "server/storage/compressed/zstd_reader.h"
#include "server/storage/compressed/zstd_scan.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::base::MemoryBudget;
using forebay::base::WorkingMemory;
using forebay::fuzz::Require;
using forebay::storage::compressed::kMostApart;
using forebay::storage::compressed::ScanPoint;
using forebay::storage::compressed::ScratchPool;
using forebay::storage::compressed::ZstdDecoders;
using forebay::storage::compressed::ZstdReader;
using forebay::storage::compressed::ZstdScan;
using Bytes = absl::Span<const std::uint8_t>;

// The most bytes of decompressed content. They are enough for several access
// points, and for stored pieces after a frame's beginning.
constexpr std::size_t kMostDecompressed = std::size_t{12} << 20;
// The longest window in bytes. It is longer than readers allow, so that the
// scan stores pieces. It is shorter than zstd's longest, which takes long to
// allocate.
constexpr std::uint64_t kMemory = std::uint64_t{20} << 20;

struct Point {
  std::uint64_t offset = 0;
  std::uint64_t bit = 0;
  std::vector<std::uint8_t> piece;
};

struct Result {
  absl::Status status;
  std::vector<std::uint8_t> text;
  std::vector<Point> points;
};

Result Scan(Bytes compressed, std::size_t piece) {
  Result result;
  MemoryBudget budget(kMemory);
  WorkingMemory memory(&budget, "a scan");
  const auto scan = ZstdScan::Create(&memory);
  Require(scan.ok());
  const auto keep = [&](const ScanPoint& found) {
    Require(found.window.empty() && found.piece.size() <= kMostApart);
    Require(found.bit % 8 == 0 && found.bit / 8 <= compressed.size());
    if (!result.points.empty()) {
      Require(found.offset > result.points.back().offset);
      Require(found.bit >= result.points.back().bit);
    } else {
      Require(found.offset == 0);
    }
    result.points.push_back(
        {found.offset, found.bit, {found.piece.begin(), found.piece.end()}});
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

// Reads from an access point up to the next one at most.
void ReadFrom(Bytes compressed, const Result& scanned, const Point& from,
              std::uint64_t end,
              const std::shared_ptr<ZstdDecoders>& decoders) {
  const std::uint64_t begin = from.offset + (end - from.offset) / 2;
  std::vector<std::uint8_t> out(std::min<std::size_t>(100'000, end - begin));
  ZstdReader reader(decoders, std::make_shared<ScratchPool>(),
                    begin - from.offset, absl::MakeSpan(out));
  Bytes rest = compressed.subspan(from.bit / 8);
  while (!reader.done() && (!rest.empty() || reader.pending())) {
    const auto took =
        reader.Take(rest.first(std::min<std::size_t>(rest.size(), 1000)));
    if (!took.ok()) break;
    rest.remove_prefix(*took);
  }
  Require(reader.done());
  Require(
      std::equal(out.begin(), out.end(),
                 scanned.text.begin() + static_cast<std::ptrdiff_t>(begin)));
}

void CheckPoints(Bytes compressed, const Result& scanned) {
  const auto decoders = std::make_shared<ZstdDecoders>();
  std::uint64_t end = scanned.text.size();
  for (auto point = scanned.points.rbegin(); point != scanned.points.rend();
       ++point) {
    Require(point->offset <= end);
    if (point->piece.empty()) {
      ReadFrom(compressed, scanned, *point, end, decoders);
      continue;
    }
    Require(std::equal(
        point->piece.begin(), point->piece.end(),
        scanned.text.begin() + static_cast<std::ptrdiff_t>(point->offset)));
    end = point->offset;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 1) return 0;
  const Bytes compressed(data + 1, size - 1);
  const Result whole = Scan(compressed, compressed.size());
  const Result pieces = Scan(compressed, 1 + data[0]);
  Require(whole.status.code() == pieces.status.code());
  if (!whole.status.ok()) return 0;
  Require(whole.text == pieces.text);
  Require(whole.points.size() == pieces.points.size());
  for (std::size_t i = 0; i < whole.points.size(); ++i) {
    Require(whole.points[i].offset == pieces.points[i].offset &&
            whole.points[i].piece == pieces.points[i].piece);
  }
  CheckPoints(compressed, whole);
  return 0;
}
