#include "server/stream/cached_decoder.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/base/status.h"
#include "server/sample/field_decoder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::stream {
namespace {

std::int64_t CpuNanos() { return base::Clock::ThreadCpu()->NowNanos(); }

// Whether other fields than the first image are read from a sample's bytes.
bool HasOtherParts(const StreamSpec& spec) {
  if (spec.dataset->is_self_describing()) return true;
  std::array<dataset::FieldValue, dataset::kMaxDatasetFields> values;
  const std::size_t fields = spec.fields.size();
  spec.dataset->ValuesOf(0, absl::MakeSpan(values.data(), fields));
  for (std::size_t i = 0; i < fields; ++i) {
    if (i != spec.image_field() &&
        std::holds_alternative<dataset::FieldRange>(values[i])) {
      return true;
    }
  }
  return false;
}

}  // namespace

// The number is a hash of the pipeline's variant, the image's field (a sample
// may have several images), and whether other fields precede the pixels.
storage::Variant VariantNumber(const StreamSpec& spec) {
  const auto image = std::find_if(
      spec.fields.begin(), spec.fields.end(), [](const FieldType& field) {
        return field.kind == proto::FieldKind::kImage;
      });
  if (image == spec.fields.end() || spec.pipeline == nullptr ||
      spec.pipeline->variant() == pipeline::kNoVariant ||
      spec.dataset->size() == 0 || spec.dataset->shares_extents()) {
    return storage::kEncoded;
  }
  const dataset::Field& field = spec.dataset->fields()[spec.image_field()];
  const std::string name =
      absl::StrCat(field.name, std::string(1, '\0'), field.alternatives);
  const std::uint64_t number = XXH3_64bits_withSeed(
      name.data(), name.size(),
      spec.pipeline->variant() * 2 + (HasOtherParts(spec) ? 1 : 0));
  return number == storage::kEncoded ? 1 : number;
}

CachedDecoder::CachedDecoder(const StreamSpec* spec, cache::VariantStore* store)
    : spec_(spec), store_(store), identity_(spec->dataset.get()) {
  if (store == nullptr || spec->pipeline == nullptr ||
      spec->dataset->size() == 0) {
    return;
  }
  if (sample::DatasetNumber(*spec->dataset) == 0) return;
  has_other_parts_ = HasOtherParts(*spec);
  variant_ = VariantNumber(*spec);
}

void CachedDecoder::TellCached(const PendingSample& pending,
                               std::uint64_t bytes) const {
  if (spec_->order_member == nullptr) return;
  for (const std::uint64_t sample :
       spec_->order_member->Kept(pending.id, bytes)) {
    store_->Drop(identity_.RequestFor(sample), variant_);
  }
}

void CachedDecoder::TellMissed(const PendingSample& pending) const {
  if (spec_->order_member != nullptr) spec_->order_member->Missed(pending.id);
}

// A variant that is offered to the cache. While the pipeline decodes, it asks
// this object for room and fills that room.
class CachedDecoder::Offer final : public pipeline::VariantTarget {
 public:
  Offer(const CachedDecoder* decoder, const PendingSample* pending,
        absl::Span<const std::uint8_t> read,
        const DecodeCosts::Appraisal& appraisal)
      : decoder_(decoder),
        pending_(pending),
        read_(read),
        appraisal_(appraisal) {}

  absl::Span<std::uint8_t> RoomFor(std::uint64_t bytes) override {
    const storage::ReadRequest request =
        decoder_->identity_.RequestFor(pending_->id);
    const std::size_t before =
        decoder_->has_other_parts_ ? read_.size() : std::size_t{0};
    room_ = decoder_->store_->Reserve({.read = &request,
                                       .revision = pending_->revision,
                                       .variant = decoder_->variant_,
                                       .bytes = before + bytes,
                                       .saves_nanos = appraisal_.saves_nanos,
                                       .costs_nanos = appraisal_.costs_nanos,
                                       .is_awaited = IsAwaited()});
    if (room_ == nullptr) return {};
    std::copy_n(read_.begin(), before, room_->span().begin());
    return room_->span().subspan(before);
  }

  void Filled() override { filled_at_nanos_ = CpuNanos(); }

  // Returns the thread's CPU time when the variant was complete; 0 if it was
  // not made.
  std::int64_t filled_at_nanos() const { return filled_at_nanos_; }
  std::unique_ptr<cache::VariantBuffer> TakeRoom() { return std::move(room_); }

 private:
  bool IsAwaited() const {
    const auto& order_member = decoder_->spec_->order_member;
    return order_member != nullptr && order_member->IsAwaited(pending_->id);
  }

  const CachedDecoder* const decoder_;
  const PendingSample* const pending_;
  const absl::Span<const std::uint8_t> read_;
  const DecodeCosts::Appraisal appraisal_;
  std::unique_ptr<cache::VariantBuffer> room_;
  std::int64_t filled_at_nanos_ = 0;
};

absl::Status CachedDecoder::Make(const PendingSample& pending,
                                 const pipeline::SampleKey& key,
                                 absl::Span<const std::uint8_t> read,
                                 const dataset::FieldValue& image,
                                 pipeline::Workspace& workspace,
                                 absl::Span<std::uint8_t> room) {
  const pipeline::Pipeline& pipeline = *spec_->pipeline;
  const std::int64_t started = CpuNanos();
  if (pending.variant != storage::kEncoded) {
    const std::size_t before = has_other_parts_ ? pending.length : 0;
    absl::Status status = pipeline.RunFromVariant(
        read.subspan(std::min(before, read.size())), key, workspace, room);
    if (workspace.WantsLarger()) return status;
    costs_.AddFromVariant(CpuNanos() - started);
    if (spec_->order_member != nullptr) spec_->order_member->Found(pending.id);
    return status;
  }
  FOREBAY_ASSIGN_OR_RETURN(
      const auto encoded,
      sample::ImageBytes(*spec_->dataset, pending.id, read, image,
                         [&workspace](std::uint64_t bytes) {
                           return workspace.RoomToDecompress(bytes);
                         }));
  const DecodeCosts::Appraisal appraisal = variant_ == storage::kEncoded
                                               ? DecodeCosts::Appraisal{}
                                               : costs_.Appraise();
  // If the variant saves its readers nothing, only the part that the sample
  // shows is decoded.
  if (appraisal.saves_nanos <= 0) {
    absl::Status status = pipeline.Run(encoded, key, workspace, room);
    if (workspace.WantsLarger()) return status;
    costs_.AddEncoded(CpuNanos() - started);
    TellMissed(pending);
    return status;
  }
  Offer offer(this, &pending, read, appraisal);
  absl::Status status =
      pipeline.RunAndKeep(encoded, key, workspace, room, offer);
  if (workspace.WantsLarger()) return status;
  const std::int64_t ended = CpuNanos();
  // There is no variant: the cache had no room, or decoding failed.
  if (offer.filled_at_nanos() == 0) {
    costs_.AddEncoded(ended - started);
    TellMissed(pending);
    return status;
  }
  costs_.AddWholeVariant(ended - started, ended - offer.filled_at_nanos());
  std::unique_ptr<cache::VariantBuffer> filled = offer.TakeRoom();
  const std::uint64_t variant_bytes = filled->span().size();
  store_->Insert(std::move(filled));
  TellCached(pending, variant_bytes);
  return status;
}

}  // namespace forebay::stream
