// The planner makes a request for each sample, sorts the requests by file and
// offset, and joins neighbours. Samples may be in any order, but files are read
// best from front to back. Joining saves requests: one read of up to 1 MiB
// replaces many small reads. A joined read also reads the gaps between its
// parts.
//
// Long clips are not read whole. Most formats tell the length in the first
// bytes of a file, and some, such as Ogg, only in the last bytes.
#include "server/length_scan/read_planner.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>
#include <variant>

#include "server/base/check.h"

namespace forebay::length_scan {
namespace {

// Bytes of a clip's head or tail. The last page of an Ogg file tells the clip's
// length. Readers search for this page in the last 64 KiB.
constexpr std::uint64_t kEnd = std::uint64_t{80} << 10;
// A clip of at most this many bytes is read as a whole: its head and tail would
// be most of it.
constexpr std::uint64_t kSmallClip = 2 * kEnd;
// Parts with at most kLargestGap bytes between them become one read, unless
// that read would exceed kLongestRead.
constexpr std::uint64_t kLargestGap = std::uint64_t{64} << 10;
constexpr std::uint64_t kLongestRead = std::uint64_t{1} << 20;

// Whether two reads are of the same file, version and layout.
bool IsOfOneFile(const storage::ReadRequest& a, const storage::ReadRequest& b) {
  return a.root == b.root && a.object == b.object && a.version == b.version &&
         a.layout == b.layout;
}

// Joins `next` to `read` if they lie close together. Returns whether they were
// joined. `read` must not begin after `next`.
bool Join(PlannedRead& read, PlannedRead& next) {
  storage::ReadRequest& to = read.request;
  const storage::ReadRequest& from = next.request;
  if (!IsOfOneFile(to, from)) return false;
  // The bytes of a head may be held until the tail is read. If the read were
  // joined, the bytes of its other parts would be held, too.
  if (read.wanted.back().part == MeasuredPart::kHead ||
      next.wanted.back().part == MeasuredPart::kHead)
    return false;
  const std::uint64_t end = to.offset + to.length;
  const std::uint64_t new_end = std::max(end, from.offset + from.length);
  if (from.offset > end && from.offset - end > kLargestGap) return false;
  if (new_end - to.offset > std::max(kLongestRead, to.length)) return false;
  to.length = new_end - to.offset;
  std::move(next.wanted.begin(), next.wanted.end(),
            std::back_inserter(read.wanted));
  return true;
}

}  // namespace

ReadPlanner::ReadPlanner(const dataset::Dataset* dataset, std::size_t field)
    : dataset_(dataset), field_(field), identity_(dataset) {
  FOREBAY_CHECK(field < dataset->fields().size());
}

Wanted ReadPlanner::WantedOf(const storage::ReadRequest& request,
                             std::uint64_t id) const {
  Wanted wanted{
      .sample = id, .offset = request.offset, .length = request.length};
  const std::vector<dataset::Field>& fields = dataset_->fields();
  if (dataset_->is_self_describing() ||
      fields[field_].kind != proto::FieldKind::kAudio)
    return wanted;
  std::array<dataset::FieldValue, dataset::kMaxDatasetFields> values;
  dataset_->ValuesOf(id, absl::MakeSpan(values.data(), fields.size()));
  const auto* const range = std::get_if<dataset::FieldRange>(&values[field_]);
  // If the clip is compressed, its bytes have no range in the object.
  if (range == nullptr || range->offset > request.length ||
      range->length > request.length - range->offset)
    return wanted;
  wanted.clip = {.offset = request.offset + range->offset,
                 .length = range->length};
  wanted.part =
      range->length <= kSmallClip ? MeasuredPart::kClip : MeasuredPart::kHead;
  wanted.offset = wanted.clip.offset;
  wanted.length = wanted.part == MeasuredPart::kClip ? range->length : kEnd;
  return wanted;
}

std::vector<PlannedRead> ReadPlanner::Plan(std::uint64_t begin,
                                           std::uint64_t end) const {
  // A read, and the source dataset of its sample. Reads are sorted by both.
  struct Placed {
    std::size_t source = 0;
    PlannedRead read;
  };
  std::vector<Placed> all;
  all.reserve(end - begin);
  for (std::uint64_t id = begin; id < end; ++id) {
    storage::ReadRequest request = identity_.RequestFor(id);
    request.sample = {};
    // The read bypasses the cache: later reads want whole samples, and parts of
    // samples cannot serve them.
    request.uncached = true;
    Wanted wanted = WantedOf(request, id);
    request.offset = wanted.offset;
    request.length = wanted.length;
    Placed& placed = all.emplace_back();
    placed.source = dataset_->SourceSampleOf(id).source;
    placed.read.request = std::move(request);
    placed.read.wanted.push_back(std::move(wanted));
  }
  std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.source, a.read.request.object, a.read.request.offset) <
           std::tie(b.source, b.read.request.object, b.read.request.offset);
  });
  std::vector<PlannedRead> reads;
  for (Placed& placed : all) {
    if (reads.empty() || !Join(reads.back(), placed.read))
      reads.push_back(std::move(placed.read));
  }
  return reads;
}

PlannedRead ReadPlanner::PlanMore(Wanted wanted) const {
  FOREBAY_CHECK(wanted.part == MeasuredPart::kHead ||
                wanted.part == MeasuredPart::kTail);
  const dataset::FieldRange& clip = wanted.clip;
  if (wanted.part == MeasuredPart::kHead) {
    wanted.part = MeasuredPart::kTail;
    wanted.length = std::min(kEnd, clip.length);
    wanted.offset = clip.offset + clip.length - wanted.length;
  } else {
    wanted.part = MeasuredPart::kClip;
    wanted.head = {};
    wanted.offset = clip.offset;
    wanted.length = clip.length;
  }
  PlannedRead read;
  read.request = identity_.RequestFor(wanted.sample);
  read.request.sample = {};
  read.request.uncached = true;
  read.request.offset = wanted.offset;
  read.request.length = wanted.length;
  read.wanted.push_back(std::move(wanted));
  return read;
}

}  // namespace forebay::length_scan
