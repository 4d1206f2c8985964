#include "server/stream/sample_maker.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/pipeline/array.h"
#include "server/pipeline/decode/integer_text.h"
#include "server/pipeline/decode/utf8_text.h"
#include "server/stream/annotate_error.h"

namespace forebay::stream {
namespace {

using proto::FieldKind;

absl::Span<const std::uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

absl::Status MakeArray(const pipeline::TensorType& type,
                       absl::Span<const std::uint8_t> file,
                       absl::Span<std::uint8_t> room) {
  FOREBAY_ASSIGN_OR_RETURN(const pipeline::Array array,
                           pipeline::ReadArray(file));
  if (array.type.dtype != type.dtype || array.type.shape != type.shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("is an array of ", pipeline::Describe(array.type),
                     ", but that of sample 0 is of ", pipeline::Describe(type),
                     ", as all must be"));
  }
  std::copy(array.items.begin(), array.items.end(), room.begin());
  return absl::OkStatus();
}

}  // namespace

absl::Status SampleMaker::Make(const PendingSample& pending,
                               absl::Span<const std::uint8_t> bytes,
                               pipeline::Workspace& workspace) const {
  std::array<dataset::FieldValue, dataset::kMaxDatasetFields> values;
  const dataset::Dataset& dataset = *spec_->dataset;
  const std::size_t fields = spec_->fields.size();
  dataset.ValuesOf(pending.id, absl::MakeSpan(values.data(), fields));
  std::uint8_t* const slot = pending.batch->data;
  layout_->SetSampleId(slot, pending.index,
                       static_cast<std::int64_t>(pending.id));
  for (std::size_t i = 0; i < fields; ++i) {
    absl::Status status;
    if (const auto* number = std::get_if<std::int64_t>(&values[i])) {
      layout_->SetInteger(slot, i, pending.index, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&values[i])) {
      status = pipeline::decode::DecodeText(BytesOf(*text)).status();
      layout_->SetBytes(slot, i, pending.index, BytesOf(*text));
    } else {
      status = MakeField(pending, i, std::get<dataset::FieldRange>(values[i]),
                         bytes, workspace);
    }
    if (!status.ok()) return AnnotateFieldError(dataset, pending.id, i, status);
  }
  return absl::OkStatus();
}

// A sample that an epoch has more than once looks different each time.
pipeline::SampleKey SampleMaker::KeyOf(const PendingSample& pending) const {
  return {.seed = spec_->seed + pending.repeat * 0x9E3779B97F4A7C15,
          .epoch = pending.batch->key.epoch,
          .sample = pending.id};
}

absl::Status SampleMaker::MakeField(const PendingSample& pending,
                                    std::size_t field,
                                    const dataset::FieldRange& part,
                                    absl::Span<const std::uint8_t> read,
                                    pipeline::Workspace& workspace) const {
  const Batch& batch = *pending.batch;
  if (spec_->fields[field].kind == FieldKind::kImage &&
      pending.variant != storage::kEncoded) {
    return variants_->Make(pending, KeyOf(pending), read, part, workspace,
                           layout_->Room(batch.data, field, pending.index));
  }
  if (part.offset > read.size() || part.length > read.size() - part.offset) {
    return absl::DataLossError(absl::StrCat(
        "has only ", read.size(), " of ", part.offset + part.length, " bytes"));
  }
  const auto bytes = read.subspan(part.offset, part.length);
  switch (const FieldType& type = spec_->fields[field]; type.kind) {
    case FieldKind::kImage:
      return variants_->Make(pending, KeyOf(pending), read, part, workspace,
                             layout_->Room(batch.data, field, pending.index));
    case FieldKind::kLabel: {
      FOREBAY_ASSIGN_OR_RETURN(const std::int64_t number,
                               pipeline::decode::DecodeInteger(bytes));
      layout_->SetInteger(batch.data, field, pending.index, number);
      return absl::OkStatus();
    }
    case FieldKind::kText:
    case FieldKind::kJson: {
      FOREBAY_RETURN_IF_ERROR(pipeline::decode::DecodeText(bytes).status());
      [[fallthrough]];
    }
    case FieldKind::kBytes:
      layout_->SetBytes(batch.data, field, pending.index, bytes);
      return absl::OkStatus();
    case FieldKind::kArray:
      if (type.bare) {
        layout_->SetElements(batch.data, field, pending.index, bytes);
        return absl::OkStatus();
      }
      return MakeArray(type.value, bytes,
                       layout_->Room(batch.data, field, pending.index));
    case FieldKind::kSampleId:
      break;
  }
  return absl::InternalError("is a field that no dataset has");
}

absl::Status SampleMaker::AnnotateError(const PendingSample& pending,
                                        const absl::Status& status) const {
  return AnnotateSampleError(*spec_->dataset, pending.id, status);
}

}  // namespace forebay::stream
