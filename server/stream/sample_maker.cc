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
#include "server/stream/blame.h"

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

absl::Status SampleMaker::Make(const Place& place,
                               absl::Span<const std::uint8_t> bytes,
                               pipeline::Workspace& workspace) const {
  std::array<dataset::FieldValue, dataset::kMostFields> values;
  const dataset::Dataset& dataset = *spec_->dataset;
  const std::size_t fields = spec_->fields.size();
  dataset.ValuesOf(place.id, absl::MakeSpan(values.data(), fields));
  std::uint8_t* const slot = place.batch->data;
  layout_->SetSampleId(slot, place.index, static_cast<std::int64_t>(place.id));
  for (std::size_t i = 0; i < fields; ++i) {
    absl::Status status;
    if (const auto* number = std::get_if<std::int64_t>(&values[i])) {
      layout_->SetInteger(slot, i, place.index, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&values[i])) {
      status = pipeline::decode::DecodeText(BytesOf(*text)).status();
      layout_->SetBytes(slot, i, place.index, BytesOf(*text));
    } else {
      status = MakeField(place, i, std::get<dataset::Part>(values[i]), bytes,
                         workspace);
    }
    if (!status.ok()) return BlameField(dataset, place.id, i, status);
  }
  return absl::OkStatus();
}

// A sample that an epoch has more than once looks different each time.
pipeline::SampleKey SampleMaker::KeyOf(const Place& place) const {
  return {.seed = spec_->seed + place.repeat * 0x9E3779B97F4A7C15,
          .epoch = place.batch->key.epoch,
          .sample = place.id};
}

absl::Status SampleMaker::MakeField(const Place& place, std::size_t field,
                                    const dataset::Part& part,
                                    absl::Span<const std::uint8_t> read,
                                    pipeline::Workspace& workspace) const {
  const Batch& batch = *place.batch;
  if (spec_->fields[field].kind == FieldKind::kImage &&
      place.form != storage::kEncoded) {
    return forms_->Make(place, KeyOf(place), read, part, workspace,
                        layout_->Room(batch.data, field, place.index));
  }
  if (part.offset > read.size() || part.length > read.size() - part.offset) {
    return absl::DataLossError(absl::StrCat(
        "has only ", read.size(), " of ", part.offset + part.length, " bytes"));
  }
  const auto bytes = read.subspan(part.offset, part.length);
  switch (const FieldType& type = spec_->fields[field]; type.kind) {
    case FieldKind::kImage:
      return forms_->Make(place, KeyOf(place), read, part, workspace,
                          layout_->Room(batch.data, field, place.index));
    case FieldKind::kLabel: {
      FOREBAY_ASSIGN_OR_RETURN(const std::int64_t number,
                               pipeline::decode::DecodeInteger(bytes));
      layout_->SetInteger(batch.data, field, place.index, number);
      return absl::OkStatus();
    }
    case FieldKind::kText:
    case FieldKind::kJson: {
      FOREBAY_RETURN_IF_ERROR(pipeline::decode::DecodeText(bytes).status());
      [[fallthrough]];
    }
    case FieldKind::kBytes:
      layout_->SetBytes(batch.data, field, place.index, bytes);
      return absl::OkStatus();
    case FieldKind::kArray:
      if (type.bare) {
        layout_->SetElements(batch.data, field, place.index, bytes);
        return absl::OkStatus();
      }
      return MakeArray(type.value, bytes,
                       layout_->Room(batch.data, field, place.index));
    case FieldKind::kSampleId:
      break;
  }
  return absl::InternalError("is a field that no dataset has");
}

absl::Status SampleMaker::Blame(const Place& place,
                                const absl::Status& status) const {
  return BlameSample(*spec_->dataset, place.id, status);
}

}  // namespace forebay::stream
