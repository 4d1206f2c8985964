#include "server/stream/sample_maker.h"

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/tiff_array.h"
#include "server/sample/annotate_error.h"
#include "server/sample/field_decoder.h"
#include "server/stream/clip_maker.h"

namespace forebay::stream {

// Writes a sample's fields into its row of the slot.
class SampleMaker::Row final : public sample::FieldTarget {
 public:
  Row(const SampleMaker* maker, const PendingSample* pending,
      absl::Span<const std::uint8_t> read, pipeline::Workspace* workspace)
      : maker_(maker), pending_(pending), read_(read), workspace_(workspace) {}

  void SetNumber(std::size_t field, std::int64_t number) override {
    layout().SetInteger(slot(), field, pending_->index, number);
  }
  void SetBytes(std::size_t field,
                absl::Span<const std::uint8_t> bytes) override {
    layout().SetBytes(slot(), field, pending_->index, bytes);
  }
  absl::Status SetElements(std::size_t field,
                           absl::Span<const std::uint8_t> elements) override {
    const pipeline::TensorType& type = TypeOf(field).pipeline->input().tensor;
    FOREBAY_CHECK(elements.size() == type.bytes);
    return SetArray(field, {.type = type, .items = elements});
  }
  absl::Status SetArray(std::size_t field,
                        const pipeline::Array& array) override {
    FOREBAY_ASSIGN_OR_RETURN(
        const std::uint64_t bytes,
        TypeOf(field).pipeline->Run(
            array, maker_->KeyOf(*pending_), *workspace_,
            layout().Room(slot(), field, pending_->index)));
    if (TypeOf(field).ragged)
      layout().SetLength(slot(), field, pending_->index, bytes);
    return absl::OkStatus();
  }
  absl::Status SetTiff(std::size_t field,
                       absl::Span<const std::uint8_t> file) override {
    // The field has room for arrays like the first sample's, which was in a
    // .npy file.
    if (!TypeOf(field).is_tiff) {
      return absl::InvalidArgumentError(
          "is a TIFF image, but the first one has a .npy file, as all must");
    }
    FOREBAY_ASSIGN_OR_RETURN(const pipeline::Array array,
                             pipeline::ReadTiff(file, *workspace_));
    return SetArray(field, array);
  }
  absl::Status SetAudio(std::size_t field,
                        absl::Span<const std::uint8_t> file) override {
    FOREBAY_ASSIGN_OR_RETURN(
        const std::uint64_t bytes,
        MakeClip(*TypeOf(field).pipeline, file, maker_->KeyOf(*pending_),
                 *workspace_, layout().Room(slot(), field, pending_->index)));
    if (TypeOf(field).ragged)
      layout().SetLength(slot(), field, pending_->index, bytes);
    return absl::OkStatus();
  }
  absl::Status SetImage(std::size_t field,
                        const dataset::FieldValue& image) override {
    if (field != maker_->spec_->image_field()) return MakeFurther(field, image);
    return maker_->decoder_->Make(*pending_, maker_->KeyOf(*pending_), read_,
                                  image, *workspace_, RoomOf(field));
  }

 private:
  // Makes an image other than the first one of a sample; it has no variant.
  absl::Status MakeFurther(std::size_t field,
                           const dataset::FieldValue& image) const {
    FOREBAY_ASSIGN_OR_RETURN(
        const auto encoded,
        sample::ImageBytes(*maker_->spec_->dataset, pending_->id, read_, image,
                           [this](std::uint64_t bytes) {
                             return workspace_->RoomToDecompress(bytes);
                           }));
    return TypeOf(field).image->Run(
        encoded, maker_->KeyOf(*pending_), *workspace_,
        layout().Room(slot(), field, pending_->index));
  }

  absl::Span<std::uint8_t> RoomOf(std::size_t image) const {
    const pipeline::UserCode* const code = maker_->spec_->user_code();
    return code == nullptr
               ? layout().Room(slot(), image, pending_->index)
               : code->Input(layout().UserBuffer(slot(), pending_->index));
  }

  const FieldType& TypeOf(std::size_t field) const {
    return maker_->spec_->fields[field];
  }
  const BatchLayout& layout() const { return *maker_->layout_; }
  const BatchMemory& slot() const { return pending_->batch->memory; }

  const SampleMaker* const maker_;
  const PendingSample* const pending_;
  const absl::Span<const std::uint8_t> read_;
  pipeline::Workspace* const workspace_;
};

void SampleMaker::Make(ReadSample* sample,
                       pipeline::Workspace& workspace) const {
  const PendingSample& pending = *sample->pending;
  if (pending.batch->abandoned.load(std::memory_order_relaxed)) return;
  sample->status = Decode(pending, sample->bytes.span(), workspace);
  sample->is_made = true;
  sample->too_large =
      absl::IsResourceExhausted(sample->status) && workspace.WantsLarger();
}

absl::Status SampleMaker::Decode(const PendingSample& pending,
                                 absl::Span<const std::uint8_t> read,
                                 pipeline::Workspace& workspace) const {
  layout_->SetSampleId(pending.batch->memory, pending.index,
                       static_cast<std::int64_t>(pending.id));
  Row row(this, &pending, read, &workspace);
  dataset::ValueBuffers buffers;
  const auto decompress =
      [&](std::uint64_t bytes) -> absl::StatusOr<absl::Span<std::uint8_t>> {
    auto scratch = workspace.RoomToDecompress(bytes);
    // The workspace's scratch memory is overwritten when a field is made there.
    // Decompressed values that would be lost thus get memory of their own.
    if (scratch.ok() && (spec_->share_scratch() || spec_->decodes_arrays()))
      return buffers.Add(bytes);
    return scratch;
  };
  const dataset::DecompressionRoom room = decompress;
  buffers = dataset::ValueBuffers(&room);
  return sample::DecodeFields(*spec_->dataset, pending.id, read, buffers, row);
}

void SampleMaker::PutInUserBuffer(ReadSample* sample,
                                  pipeline::Workspace& workspace) const {
  if (sample->laid) return;
  Make(sample, workspace);
  sample->laid = sample->is_made && sample->status.ok();
}

void SampleMaker::TakeFromUserBuffer(ReadSample* sample,
                                     pipeline::Workspace& workspace) const {
  if (!sample->asked || !sample->status.ok() || spec_->code_fills_rows())
    return;
  const PendingSample& pending = *sample->pending;
  const BatchMemory& slot = pending.batch->memory;
  const absl::Status status = spec_->user_code()->RunAfter(
      layout_->UserBuffer(slot, pending.index), KeyOf(pending), workspace,
      layout_->Room(slot, spec_->image_field(), pending.index));
  if (!status.ok()) sample->status = AnnotateError(pending, status);
}

// A sample that occurs more than once in an epoch is drawn differently each
// time. The multiplier is the golden ratio times 2^64.
pipeline::SampleKey SampleMaker::KeyOf(const PendingSample& pending) const {
  return {.seed = spec_->seed + pending.repeat * 0x9E3779B97F4A7C15,
          .epoch = pending.batch->key.epoch,
          .sample = pending.id};
}

absl::Status SampleMaker::AnnotateError(const PendingSample& pending,
                                        const absl::Status& status) const {
  return sample::AnnotateSampleError(*spec_->dataset, pending.id, status);
}

}  // namespace forebay::stream
