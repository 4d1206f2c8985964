#include "server/stream/sample_contents.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/array.h"
#include "server/pipeline/decode/integer_text.h"
#include "server/pipeline/decode/utf8_text.h"
#include "server/pipeline/whole_image.h"
#include "server/stream/annotate_error.h"

namespace forebay::stream {
namespace {

using proto::DType;
using proto::FieldKind;

void SetType(const pipeline::TensorType& type, proto::FetchedField* field) {
  FOREBAY_CHECK(type.shape.size() <= proto::kMaxRank);
  field->dtype = type.dtype;
  field->rank = static_cast<std::uint32_t>(type.shape.size());
  std::copy(type.shape.begin(), type.shape.end(), field->shape);
  field->bytes = type.bytes;
}

void SetBytes(absl::Span<const std::uint8_t> bytes, Content* content) {
  SetType(
      {.dtype = DType::kUint8, .shape = {bytes.size()}, .bytes = bytes.size()},
      &content->field);
  content->bytes = bytes;
}

void SetNumber(std::int64_t number, Content* content) {
  SetType({.dtype = DType::kInt64, .shape = {}, .bytes = sizeof(number)},
          &content->field);
  content->number = number;
}

absl::Status SetText(absl::Span<const std::uint8_t> bytes, Content* content) {
  FOREBAY_RETURN_IF_ERROR(pipeline::decode::DecodeText(bytes).status());
  SetBytes(bytes, content);
  return absl::OkStatus();
}

absl::Status SetArray(const dataset::Field& field,
                      absl::Span<const std::uint8_t> bytes, Content* content) {
  if (field.array.has_value()) {
    SetType({.dtype = field.array->dtype,
             .shape = field.array->shape,
             .bytes = bytes.size()},
            &content->field);
    content->bytes = bytes;
    return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(const pipeline::Array array,
                           pipeline::ReadArray(bytes));
  SetType(array.type, &content->field);
  content->bytes = array.items;
  return absl::OkStatus();
}

absl::Status SetImage(const ReaderSpec& spec,
                      absl::Span<const std::uint8_t> bytes,
                      pipeline::Workspace& workspace, Content* content) {
  SetBytes(bytes, content);
  if (!spec.decode) return absl::OkStatus();
  if (spec.pipeline != nullptr) {
    SetType(spec.pipeline->output(), &content->field);
    return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(const pipeline::TensorType type,
                           pipeline::TypeOfWholeImage(bytes, workspace));
  SetType(type, &content->field);
  return absl::OkStatus();
}

absl::Status MeasurePart(const ReaderSpec& spec, const dataset::Field& field,
                         absl::Span<const std::uint8_t> bytes,
                         pipeline::Workspace& workspace, Content* content) {
  switch (field.kind) {
    case FieldKind::kImage:
      return SetImage(spec, bytes, workspace, content);
    case FieldKind::kLabel: {
      FOREBAY_ASSIGN_OR_RETURN(const std::int64_t number,
                               pipeline::decode::DecodeInteger(bytes));
      SetNumber(number, content);
      return absl::OkStatus();
    }
    case FieldKind::kText:
    case FieldKind::kJson:
      return SetText(bytes, content);
    case FieldKind::kBytes:
      SetBytes(bytes, content);
      return absl::OkStatus();
    case FieldKind::kArray:
      return SetArray(field, bytes, content);
    case FieldKind::kSampleId:
      break;
  }
  return absl::InternalError("is a field that no dataset has");
}

absl::Status Measure(const ReaderSpec& spec, const dataset::Field& field,
                     const dataset::FieldValue& value,
                     absl::Span<const std::uint8_t> encoded,
                     pipeline::Workspace& workspace, Content* content) {
  content->field.kind = field.kind;
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    SetNumber(*number, content);
    return absl::OkStatus();
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    return SetText(
        {reinterpret_cast<const std::uint8_t*>(text->data()), text->size()},
        content);
  }
  const auto& part = std::get<dataset::FieldRange>(value);
  if (part.offset > encoded.size() ||
      part.length > encoded.size() - part.offset) {
    return absl::DataLossError(absl::StrCat("has only ", encoded.size(), " of ",
                                            part.offset + part.length,
                                            " bytes"));
  }
  return MeasurePart(spec, field, encoded.subspan(part.offset, part.length),
                     workspace, content);
}

}  // namespace

absl::StatusOr<std::vector<Content>> MeasureSample(
    const ReaderSpec& spec, std::uint64_t id,
    absl::Span<const std::uint8_t> encoded, pipeline::Workspace& workspace) {
  const dataset::Dataset& dataset = *spec.dataset;
  const std::vector<dataset::Field>& fields = dataset.fields();
  std::vector<dataset::FieldValue> values(fields.size());
  dataset.ValuesOf(id, absl::MakeSpan(values));
  std::vector<Content> contents(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const absl::Status status =
        Measure(spec, fields[i], values[i], encoded, workspace, &contents[i]);
    if (!status.ok()) return AnnotateFieldError(dataset, id, i, status);
  }
  return contents;
}

bool IsDecoded(const ReaderSpec& spec, const Content& content) {
  return spec.decode && content.field.kind == FieldKind::kImage;
}

absl::Status MakeContent(const ReaderSpec& spec, std::uint64_t id,
                         std::size_t field, const Content& content,
                         pipeline::Workspace& workspace,
                         absl::Span<std::uint8_t> out) {
  if (IsDecoded(spec, content)) {
    const absl::Status status =
        spec.pipeline != nullptr
            ? spec.pipeline->Run(content.bytes,
                                 {.seed = 0, .epoch = 0, .sample = id},
                                 workspace, out)
            : pipeline::DecodeWholeImage(content.bytes, workspace, out);
    return status.ok() ? status
                       : AnnotateFieldError(*spec.dataset, id, field, status);
  }
  if (content.field.kind == FieldKind::kLabel) {
    std::memcpy(out.data(), &content.number, sizeof(content.number));
  } else {
    std::copy(content.bytes.begin(), content.bytes.end(), out.begin());
  }
  return absl::OkStatus();
}

}  // namespace forebay::stream
