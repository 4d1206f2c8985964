#include "server/job/length_planner.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/job.pb.h"
#include "server/base/status.h"
#include "server/sampler/length_order.h"
#include "server/sampler/length_plan.h"
#include "server/stream/field_lengths.h"
#include "server/stream/room_scan.h"
#include "server/stream/sample_room.h"
#include "server/stream/window_cache.h"

namespace forebay::job {
namespace {

// The planner works in these steps.
//
// 1. FindField chooses the field whose lengths count: the one that the spec
//    names, or the first that varies, ragged arrays before others.
// 2. FindLengths gets the lengths of that field: from its type if all are
//    equal, from the index if it has them, otherwise by measuring.
// 3. Scan looks at each sample once, adds up how much room batches need, and
//    finds the longest sample.
// 4. Limit turns the largest length of a batch into its largest number of
//    samples, which slots have room for.
// 5. GiveRoom sets the room of fields that vary, if it saves a quarter.
// 6. Order sorts samples by length within windows of the epoch.

// How many batches are planned together in a window. The number is large enough
// that a window's end cuts few batches short, and small enough that a plan
// takes milliseconds.
constexpr std::uint64_t kWindowBatches = 64;
// The most samples of a window, unless one batch of all ranks has more.
constexpr std::uint64_t kWindowSamples = std::uint64_t{1} << 16;
// The most samples of one batch of all ranks.
constexpr std::uint64_t kMostAtATime = std::uint64_t{1} << 18;
// If a slot needs at most this many bytes, it is not worth while to look at
// each sample to save room.
constexpr std::uint64_t kSmallRoom = std::uint64_t{4} << 20;
// The most samples that are looked at to save memory, which takes a second or
// two.
constexpr std::uint64_t kMostScanned = std::uint64_t{1} << 24;

// Converts a batch's length from seconds to units of stream::kUnitsPerSecond. A
// floating-point number may be a little less than the number that the user
// wrote. A small part of a unit is therefore added before rounding down.
std::uint64_t UnitsOf(double seconds) {
  constexpr double kLoss = 1e-3;
  const double units = seconds * static_cast<double>(stream::kUnitsPerSecond);
  return std::max(static_cast<std::uint64_t>(units + kLoss), std::uint64_t{1});
}

// The plan of one stream. The spec and the stream outlive it.
class Planner {
 public:
  Planner(const proto::LoaderSpec& spec, MeasureField measure,
          stream::StreamSpec* stream)
      : spec_(spec), measure_(measure), stream_(stream) {}

  absl::Status Plan(base::MemoryBudget* budget, const std::stop_token& stop);

 private:
  bool counts_seconds() const { return spec_.batch().max_seconds() > 0; }
  stream::LengthUnit unit() const {
    return counts_seconds() ? stream::LengthUnit::kTime
                            : stream::LengthUnit::kElements;
  }
  std::uint64_t most() const {
    return counts_seconds() ? UnitsOf(spec_.batch().max_seconds())
                            : spec_.batch().max_length();
  }
  bool has_limit() const { return most() > 0; }
  bool by_length() const { return spec_.sampler().by_length() || has_limit(); }
  std::uint64_t world_size() const {
    return stream_->sampler.partition().world_size();
  }

  absl::Status CheckOptions() const;
  // Returns whether a field of `type` can be the one whose lengths count.
  bool MaySay(const stream::FieldType& type) const;
  absl::StatusOr<std::size_t> FindField() const;
  absl::Status NoSuchField() const;
  absl::Status FindLengths();
  void SetLongest(std::size_t field,
                  const length_scan::ValueSizes& sizes) const;
  bool GivesRoom() const;
  absl::Status Scan(const stream::SampleRoom& room,
                    const std::stop_token& stop);
  std::uint64_t LongestLength() const;
  std::string Described(std::uint64_t length) const;
  absl::Status Limit();
  absl::Status Order(base::MemoryBudget* budget);
  void GiveRoom(std::shared_ptr<const stream::SampleRoom> room);
  std::uint64_t RoomOfLongest() const;

  const proto::LoaderSpec& spec_;
  const MeasureField measure_;
  stream::StreamSpec* const stream_;
  std::optional<stream::RoomScan> scan_;
  std::string field_;  // the field whose lengths count
  std::shared_ptr<const sampler::SampleLengths> lengths_;
  std::optional<std::uint64_t> equal_;  // set if all samples have this length
  stream::MeasuredField measured_;
};

// Refuses options that cannot be combined with batches of limited length.
absl::Status Planner::CheckOptions() const {
  if (!has_limit()) return absl::OkStatus();
  if (counts_seconds() && spec_.batch().max_length() > 0) {
    return absl::InvalidArgumentError(
        "max_seconds: a batch is limited by max_tokens or by max_seconds, not "
        "by both");
  }
  if (spec_.batch().drop_last()) {
    return absl::InvalidArgumentError(
        "drop_last: where lengths decide how many samples make a batch, each "
        "may be smaller than others");
  }
  if (spec_.batch().on_error() == proto::BatchSpec::SUBSTITUTE) {
    return absl::InvalidArgumentError(
        "on_error: a substitute may be longer than what is left of the largest "
        "length of a batch: use \"raise\"");
  }
  return absl::OkStatus();
}

// If the length of batches is limited, a field of clips counts even if all
// clips are equally long. Their length decides how many samples make a batch.
bool Planner::MaySay(const stream::FieldType& type) const {
  if (counts_seconds()) return type.is_clip();
  return type.varies() || (has_limit() && type.is_clip());
}

// Returns the number of the field whose lengths count.
absl::StatusOr<std::size_t> Planner::FindField() const {
  const auto& fields = stream_->fields;
  const std::string& name = spec_.sampler().length_field();
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool is_named = !name.empty() && fields[i].name == name;
    if (is_named && counts_seconds() && !fields[i].is_clip()) {
      return absl::InvalidArgumentError(absl::StrCat(
          stream_->dataset->uri(), ": max_seconds: ", name, " is not audio"));
    }
    if (is_named && !MaySay(fields[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(stream_->dataset->uri(),
                       ": all samples have equally much of ", name));
    }
    if (is_named) return i;
    if (!name.empty() || !MaySay(fields[i])) continue;
    if (!found.has_value() || (fields[i].ragged && !fields[*found].ragged))
      found = i;
  }
  if (found.has_value()) return *found;
  return NoSuchField();
}

absl::Status Planner::NoSuchField() const {
  const std::string uri = stream_->dataset->uri();
  const std::string& name = spec_.sampler().length_field();
  if (!name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(uri, ": there is no field ", name));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      uri, counts_seconds()
               ? ": max_seconds: no field is audio"
               : ": no field differs in length from sample to sample"));
}

// Sets `lengths_`, and `equal_` if all samples have one length. The lengths are
// those that values have after the field's pipeline.
absl::Status Planner::FindLengths() {
  FOREBAY_ASSIGN_OR_RETURN(const std::size_t field, FindField());
  const stream::FieldType& type = stream_->fields[field];
  field_ = type.name;
  if (!type.varies()) {
    // All samples have the same length. Its duration in seconds is computed
    // with the first sample's rate.
    const auto& input = type.pipeline->input().tensor;
    equal_ =
        stream::LengthOf(type.pipeline->OutcomeOf(input.shape.front(),
                                                  type.pipeline->first_rate()),
                         unit());
    lengths_ = std::make_shared<stream::EqualLengths>(*equal_);
    return absl::OkStatus();
  }
  if (!stream::IndexHasLengths(*stream_->dataset, type)) {
    FOREBAY_ASSIGN_OR_RETURN(measured_.sizes, measure_(field));
    measured_.field = field;
    SetLongest(field, *measured_.sizes);
  }
  lengths_ = std::make_shared<stream::FieldLengths>(
      stream_->dataset, field, type, measured_.sizes, unit());
  return absl::OkStatus();
}

// Lowers the field's longest length to the longest that was measured. Slots
// then have room for the values that exist, not for all that could exist.
void Planner::SetLongest(std::size_t field,
                         const length_scan::ValueSizes& sizes) const {
  stream::FieldType& type = stream_->fields[field];
  std::uint64_t longest = 1;
  for (std::uint64_t id = 0; id < sizes.size(); ++id)
    longest = std::max(longest, type.OutcomeOf(sizes.Of(id)).length);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(longest, type.BytesOfEach(), &bytes)) return;
  type.value.shape.front() = longest;
  type.value.bytes = bytes;
}

// Returns whether a slot may have less room than a batch of the longest samples
// needs. First, values must be as long as the index or the measurement says,
// which values from workers need not be. Second, no sample may occur twice in a
// batch, as substitutes and listed samples may.
bool Planner::GivesRoom() const {
  if (stream_->dataset->is_produced() || stream_->batch.substitute ||
      stream_->sampler.is_listed())
    return false;
  const std::uint64_t longest = RoomOfLongest();
  if (has_limit() && (longest > 0 || !equal_.has_value())) return true;
  return longest > kSmallRoom && stream_->dataset->size() <= kMostScanned;
}

// Returns the number of bytes that the fields which vary take in a batch of the
// longest samples.
std::uint64_t Planner::RoomOfLongest() const {
  unsigned __int128 bytes = 0;
  for (const stream::FieldType& type : stream_->fields)
    if (type.varies()) bytes += type.value.bytes;
  bytes *= stream_->batch.size;
  return static_cast<std::uint64_t>(
      std::min<unsigned __int128>(bytes, ~std::uint64_t{0}));
}

// Looks at each sample once, in the order of the index, to find the lengths and
// the room that batches need. kMostScanned samples take a second or two.
absl::Status Planner::Scan(const stream::SampleRoom& room,
                           const std::stop_token& stop) {
  constexpr std::uint64_t kLooks = 4096;  // samples between checks of `stop`
  std::array<std::uint64_t, dataset::kMaxDatasetFields> bytes;
  const auto all = absl::MakeSpan(bytes.data(), stream_->fields.size());
  scan_.emplace(stream_->fields);
  for (std::uint64_t id = 0; id < stream_->dataset->size(); ++id) {
    if (id % kLooks == 0 && stop.stop_requested())
      return absl::CancelledError("stopped");
    room.BytesOf(id, all);
    scan_->Add(all, lengths_ == nullptr ? 0 : lengths_->LengthOf(id));
  }
  return absl::OkStatus();
}

// Returns the length of the longest sample.
std::uint64_t Planner::LongestLength() const {
  return equal_.value_or(scan_.has_value() ? scan_->lengths().largest() : 0);
}

// Returns a length for people: elements, or seconds.
std::string Planner::Described(std::uint64_t length) const {
  if (!counts_seconds()) return absl::StrCat(length);
  return absl::StrCat(static_cast<double>(length) /
                          static_cast<double>(stream::kUnitsPerSecond),
                      " s");
}

// Applies the limit of a batch's length. The batch's size becomes the largest
// number of samples that can fit into that length; slots need room for no more.
absl::Status Planner::Limit() {
  const std::uint64_t longest = LongestLength();
  if (longest > most()) {
    std::uint64_t sample = 0;
    while (sample + 1 < stream_->dataset->size() &&
           lengths_->LengthOf(sample) < longest)
      ++sample;
    return absl::InvalidArgumentError(absl::StrCat(
        stream_->dataset->uri(), ": the longest sample has a length of ",
        Described(longest), " (", field_, " of sample ", sample,
        "), more than the ", Described(most()),
        " of a batch: give batches more, or take a part of it by Slice"));
  }
  const std::uint64_t within = equal_.has_value()
                                   ? most() / *equal_
                                   : scan_->lengths().MostWithin(most());
  const std::uint64_t samples = std::max<std::uint64_t>(
      std::min<std::uint64_t>(within, stream_->batch.size), 1);
  stream_->batch.size = static_cast<std::uint32_t>(samples);
  stream_->batch.by_length = true;
  return absl::OkStatus();
}

// A window consists of whole batches of all ranks, so that all ranks get
// equally many. If batches have a limited length, the mean length tells how
// many samples they have.
absl::Status Planner::Order(base::MemoryBudget* budget) {
  std::uint64_t batch = stream_->batch.size;
  if (has_limit()) {
    std::uint64_t mean = equal_.value_or(1);
    if (scan_.has_value() && scan_->lengths().count() > 0)
      mean = scan_->lengths().sum() / scan_->lengths().count();
    batch = std::clamp<std::uint64_t>(most() / std::max<std::uint64_t>(mean, 1),
                                      1, batch);
  }
  const std::uint64_t at_a_time = batch * world_size();
  if (at_a_time > kMostAtATime) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bucket_by: the batches of all ranks have ", at_a_time,
        " samples together, of which ", kMostAtATime, " can be planned"));
  }
  sampler::LengthPlan plan;
  plan.sorts = spec_.sampler().by_length();
  plan.batch = stream_->batch.size;
  plan.lengths = lengths_;
  plan.make_store = [] { return std::make_unique<stream::WindowCache>(); };
  plan.window = std::min(
      kWindowBatches * at_a_time,
      std::max(kWindowSamples / at_a_time, std::uint64_t{1}) * at_a_time);
  if (has_limit())
    plan.limit = {.most = most(), .padded = spec_.batch().padded()};
  const auto ranks = static_cast<std::uint32_t>(world_size());
  // Windows of an epoch and of the one after it exist at once.
  auto reserved =
      budget->Reserve(2 * stream::WindowCache::kMost *
                          sampler::LengthOrder::BytesOf(plan, ranks),
                      "the order by length");
  if (!reserved.ok())
    return base::Annotate(reserved.status(), stream_->dataset->uri());
  FOREBAY_ASSIGN_OR_RETURN(stream_->sampler,
                           stream_->sampler.ByLength(std::move(plan)));
  stream_->windows =
      std::make_shared<const base::MemoryReservation>(*std::move(reserved));
  return absl::OkStatus();
}

// Sets the room of the fields that vary to the room that the worst batch needs,
// as the scan has found.
void Planner::GiveRoom(std::shared_ptr<const stream::SampleRoom> room) {
  // In a padded partition, the last step of an epoch may repeat a sample of
  // each rank.
  const sampler::Partition& partition = stream_->sampler.partition();
  const bool repeats =
      partition.is_padded() && partition.size() % partition.world_size() != 0;
  std::vector<std::uint64_t> bytes =
      scan_->BytesFor(stream_->batch.size, most(), repeats);
  unsigned __int128 sum = 0;
  for (const std::uint64_t field : bytes) sum += field;
  const unsigned __int128 otherwise = RoomOfLongest();
  // Room for a batch of the longest samples is simpler. The room is changed
  // only if that saves at least a quarter.
  if (sum * 4 > otherwise * 3) return;
  stream_->room = {.bytes = std::move(bytes), .samples = std::move(room)};
}

absl::Status Planner::Plan(base::MemoryBudget* budget,
                           const std::stop_token& stop) {
  if (by_length()) {
    FOREBAY_RETURN_IF_ERROR(CheckOptions());
    FOREBAY_RETURN_IF_ERROR(FindLengths());
  }
  if (GivesRoom()) {
    auto room = std::make_shared<const stream::SampleRoom>(
        stream_->dataset, stream_->fields, measured_);
    FOREBAY_RETURN_IF_ERROR(Scan(*room, stop));
    if (has_limit()) FOREBAY_RETURN_IF_ERROR(Limit());
    GiveRoom(std::move(room));
  } else if (has_limit() && equal_.has_value()) {
    FOREBAY_RETURN_IF_ERROR(Limit());
  }
  return by_length() ? Order(budget) : absl::OkStatus();
}

}  // namespace

absl::Status PlanLengths(const proto::LoaderSpec& spec,
                         base::MemoryBudget* budget, MeasureField measure,
                         const std::stop_token& stop,
                         stream::StreamSpec* stream) {
  return Planner(spec, measure, stream).Plan(budget, stop);
}

}  // namespace forebay::job
