#include "server/stream/field_type.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/array.h"

namespace forebay::stream {
namespace {

using dataset::Field;
using dataset::FieldValue;
using proto::FieldKind;

// The array that the first sample has in `field`, whose value is `value`.
absl::StatusOr<pipeline::TensorType> FirstArray(
    const Field& field, const FieldValue& value,
    absl::Span<const std::uint8_t> first_sample) {
  const auto* const part = std::get_if<dataset::FieldRange>(&value);
  FOREBAY_CHECK(part != nullptr);
  if (part->offset > first_sample.size() ||
      part->length > first_sample.size() - part->offset) {
    return absl::DataLossError("sample 0 is shorter than its index says");
  }
  auto array =
      pipeline::ReadArray(first_sample.subspan(part->offset, part->length));
  if (!array.ok()) {
    return base::Annotate(array.status(),
                          absl::StrCat("sample 0: ", field.name));
  }
  return std::move(array->type);
}

// The pipeline of that field; null if it has none.
const proto::ArrayPipeline* PipelineOf(const ArrayPipelines& pipelines,
                                       std::string_view field) {
  const auto found =
      std::find_if(pipelines.begin(), pipelines.end(),
                   [field](const proto::ArrayPipeline& pipeline) {
                     return pipeline.field() == field;
                   });
  return found == pipelines.end() ? nullptr : &*found;
}

absl::Status CheckPipelines(const ArrayPipelines& pipelines,
                            const dataset::Dataset& dataset) {
  const std::vector<Field>& fields = dataset.fields();
  if (!pipelines.empty() && dataset.is_produced()) {
    return absl::InvalidArgumentError(
        "transform: the user's code makes the samples, and transforms them");
  }
  for (const proto::ArrayPipeline& pipeline : pipelines) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& candidate) {
          return candidate.name == pipeline.field();
        });
    if (field == fields.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform: there is no field ", pipeline.field()));
    }
    if (field->kind != FieldKind::kArray) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform: ", pipeline.field(),
                       " is no array, which alone has transforms by name"));
    }
    if (PipelineOf(pipelines, pipeline.field()) != &pipeline) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform: ", pipeline.field(), " has two of them"));
    }
  }
  return absl::OkStatus();
}

// The longest array of a field whose bytes are elements alone.
pipeline::TensorType ElementsOf(const Field& field) {
  pipeline::TensorType type = {.dtype = field.array->dtype,
                               .shape = field.array->shape,
                               .bytes = field.longest};
  if (field.has_rows) {
    type.shape.insert(type.shape.begin(),
                      field.longest / dataset::BytesOf(*field.array));
  }
  return type;
}

// Makes the pipeline of an array, and with it the field's type.
absl::Status SetArray(const Field& field, const pipeline::TensorType& first,
                      const ArrayPipelines& pipelines, FieldType* type) {
  static const google::protobuf::RepeatedPtrField<proto::Op> none;
  const proto::ArrayPipeline* const wanted = PipelineOf(pipelines, field.name);
  const std::optional<std::uint64_t> longest =
      field.ragged() ? std::optional(field.longest) : std::nullopt;
  auto made = pipeline::ArrayPipeline::Create(
      wanted == nullptr ? none : wanted->ops(), first, longest);
  if (!made.ok()) return base::Annotate(made.status(), field.name);
  type->value = (*made)->output().tensor;
  type->ragged = (*made)->output().ragged_axis.has_value();
  type->pipeline = *std::move(made);
  return absl::OkStatus();
}

}  // namespace

bool HasField(const dataset::Dataset& dataset, FieldKind kind) {
  return std::any_of(dataset.fields().begin(), dataset.fields().end(),
                     [kind](const Field& field) { return field.kind == kind; });
}

bool NeedsFirstSample(const dataset::Dataset& dataset) {
  return std::any_of(
      dataset.fields().begin(), dataset.fields().end(), [](const Field& field) {
        return field.kind == FieldKind::kArray && !field.array.has_value();
      });
}

absl::StatusOr<std::vector<FieldType>> TypesOf(
    const dataset::Dataset& dataset, const pipeline::TensorType* image,
    const ArrayPipelines& array_pipelines,
    absl::Span<const std::uint8_t> first_sample) {
  const std::vector<Field>& fields = dataset.fields();
  FOREBAY_CHECK(!fields.empty() && fields.size() <= dataset::kMaxDatasetFields);
  FOREBAY_RETURN_IF_ERROR(CheckPipelines(array_pipelines, dataset));
  std::array<FieldValue, dataset::kMaxDatasetFields> values;
  dataset::MadeValues made;
  if (NeedsFirstSample(dataset)) {
    const absl::Status found = dataset.ReadValues(
        0, first_sample, absl::MakeSpan(values.data(), fields.size()), &made);
    if (!found.ok()) return base::Annotate(found, "sample 0");
  }
  std::vector<FieldType> types;
  const Field* pictured = nullptr;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    FieldType type{.name = field.name,
                   .kind = field.kind,
                   .value = {},
                   .on_host = field.on_host};
    if (field.kind == FieldKind::kImage) {
      if (pictured != nullptr) {
        return absl::UnimplementedError(
            absl::StrCat("fields ", pictured->name, " and ", field.name,
                         " are both images, of which a batch can have one"));
      }
      FOREBAY_CHECK(image != nullptr);
      pictured = &field;
      type.value = *image;
    } else if (dataset.is_produced()) {
      type.value = {.dtype = field.array->dtype,
                    .shape = field.array->shape,
                    .bytes = field.longest};
    } else if (field.array.has_value()) {
      const pipeline::TensorType value = ElementsOf(field);
      FOREBAY_RETURN_IF_ERROR(SetArray(field, value, array_pipelines, &type));
    } else if (field.kind == FieldKind::kArray) {
      FOREBAY_ASSIGN_OR_RETURN(const pipeline::TensorType value,
                               FirstArray(field, values[i], first_sample));
      const auto* const file = std::get_if<dataset::FieldRange>(&values[i]);
      type.header_bytes = file->length - std::min(file->length, value.bytes);
      FOREBAY_RETURN_IF_ERROR(SetArray(field, value, array_pipelines, &type));
    } else if (type.varies()) {
      type.value.shape = {field.longest};
      type.value.bytes = field.longest;
    } else {
      type.value.dtype = proto::DType::kInt64;
      type.value.bytes = sizeof(std::int64_t);
    }
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace forebay::stream
