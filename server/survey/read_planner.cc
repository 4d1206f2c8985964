#include "server/survey/read_planner.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>
#include <variant>

#include "server/base/check.h"

namespace forebay::survey {
namespace {

// Of a clip's ends. Ogg's last page, which says how long the clip is, is looked
// for in 64 KiB.
constexpr std::uint64_t kEnd = std::uint64_t{80} << 10;
// A clip that has no more is read at once.
constexpr std::uint64_t kSmallClip = 2 * kEnd;
// Parts that are no further apart are one read, if that is no longer.
constexpr std::uint64_t kLargestGap = std::uint64_t{64} << 10;
constexpr std::uint64_t kLongestRead = std::uint64_t{1} << 20;

bool IsOfOneFile(const storage::ReadRequest& a, const storage::ReadRequest& b) {
  return a.root == b.root && a.object == b.object && a.version == b.version &&
         a.layout == b.layout;
}

// Adds `next` to a read that begins no later, if they lie close together.
bool Join(PlannedRead& read, PlannedRead& next) {
  storage::ReadRequest& to = read.request;
  const storage::ReadRequest& from = next.request;
  if (!IsOfOneFile(to, from)) return false;
  // It is held for longer than the others.
  if (read.wanted.back().part == Part::kHead ||
      next.wanted.back().part == Part::kHead)
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
  // One that is packed has no place of its own.
  if (range == nullptr || range->offset > request.length ||
      range->length > request.length - range->offset)
    return wanted;
  wanted.clip = {.offset = request.offset + range->offset,
                 .length = range->length};
  wanted.part = range->length <= kSmallClip ? Part::kClip : Part::kHead;
  wanted.offset = wanted.clip.offset;
  wanted.length = wanted.part == Part::kClip ? range->length : kEnd;
  return wanted;
}

std::vector<PlannedRead> ReadPlanner::Plan(std::uint64_t begin,
                                           std::uint64_t end) const {
  struct Placed {
    std::size_t source = 0;
    PlannedRead read;
  };
  std::vector<Placed> all;
  all.reserve(end - begin);
  for (std::uint64_t id = begin; id < end; ++id) {
    storage::ReadRequest request = identity_.RequestFor(id);
    request.sample = {};
    // Later reads want whole samples: the cache would keep these for none.
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
  FOREBAY_CHECK(wanted.part == Part::kHead || wanted.part == Part::kTail);
  const dataset::FieldRange& clip = wanted.clip;
  if (wanted.part == Part::kHead) {
    wanted.part = Part::kTail;
    wanted.length = std::min(kEnd, clip.length);
    wanted.offset = clip.offset + clip.length - wanted.length;
  } else {
    wanted.part = Part::kClip;
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

}  // namespace forebay::survey
