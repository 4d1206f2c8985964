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

// The bytes of a value of the first sample.
absl::StatusOr<absl::Span<const std::uint8_t>> FirstBytes(
    const FieldValue& value, absl::Span<const std::uint8_t> first_sample) {
  if (const auto* const made = std::get_if<dataset::MadeBytes>(&value))
    return made->bytes;
  const auto* const part = std::get_if<dataset::FieldRange>(&value);
  FOREBAY_CHECK(part != nullptr);
  if (part->offset > first_sample.size() ||
      part->length > first_sample.size() - part->offset) {
    return absl::DataLossError("sample 0 is shorter than its index says");
  }
  return first_sample.subspan(part->offset, part->length);
}

// The array that the first sample has in `field`, whose value is `file`.
absl::StatusOr<pipeline::TensorType> FirstArray(
    const Field& field, absl::Span<const std::uint8_t> file) {
  auto array = pipeline::ReadArray(file);
  if (!array.ok()) {
    return base::Annotate(array.status(),
                          absl::StrCat("sample 0: ", field.name));
  }
  return std::move(array->type);
}

absl::Status CheckPipelines(const FieldPipelines& pipelines,
                            const dataset::Dataset& dataset) {
  const std::vector<Field>& fields = dataset.fields();
  if (!pipelines.empty() && dataset.is_produced()) {
    return absl::InvalidArgumentError(
        "transform: the user's code makes the samples, and transforms them");
  }
  for (const proto::FieldPipeline& pipeline : pipelines) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& candidate) {
          return candidate.name == pipeline.field();
        });
    if (field == fields.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform: there is no field ", pipeline.field()));
    }
    if (field->kind != FieldKind::kArray && field->kind != FieldKind::kImage) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform: ", pipeline.field(),
                       " is neither an image nor an array, which alone have "
                       "transforms"));
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
                      const FieldPipelines& pipelines, FieldType* type) {
  static const google::protobuf::RepeatedPtrField<proto::Op> none;
  const proto::FieldPipeline* const wanted = PipelineOf(pipelines, field.name);
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

std::uint64_t FieldType::ElementsIn(std::uint64_t bytes,
                                    std::uint64_t header) const {
  const pipeline::ArrayType& input = pipeline->input();
  const std::uint64_t most = value.shape.front();
  if (!input.ragged_axis.has_value()) return most;
  const std::uint64_t in = input.tensor.shape[*input.ragged_axis];
  const std::uint64_t each = in == 0 ? 0 : input.tensor.bytes / in;
  if (each == 0) return most;
  return std::min(most, bytes > header ? (bytes - header) / each : 0);
}

const proto::FieldPipeline* PipelineOf(const FieldPipelines& pipelines,
                                       std::string_view field) {
  const auto found =
      std::find_if(pipelines.begin(), pipelines.end(),
                   [field](const proto::FieldPipeline& pipeline) {
                     return pipeline.field() == field;
                   });
  return found == pipelines.end() ? nullptr : &*found;
}

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
    const dataset::Dataset& dataset, const ImagePipelines& images,
    const FieldPipelines& pipelines,
    absl::Span<const std::uint8_t> first_sample, dataset::UnpackRoom room) {
  const std::vector<Field>& fields = dataset.fields();
  FOREBAY_CHECK(!fields.empty() && fields.size() <= dataset::kMaxDatasetFields);
  FOREBAY_RETURN_IF_ERROR(CheckPipelines(pipelines, dataset));
  std::array<FieldValue, dataset::kMaxDatasetFields> values;
  dataset::MadeValues made(&room);
  if (NeedsFirstSample(dataset)) {
    const absl::Status found = dataset.ReadValues(
        0, first_sample, absl::MakeSpan(values.data(), fields.size()), &made);
    if (!found.ok()) return base::Annotate(found, "sample 0");
  }
  std::vector<FieldType> types;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    FieldType type{.name = field.name,
                   .kind = field.kind,
                   .value = {},
                   .on_host = field.on_host};
    if (field.kind == FieldKind::kImage) {
      type.image = images[i];
      type.value = type.image->output();
    } else if (dataset.is_produced()) {
      type.value = {.dtype = field.array->dtype,
                    .shape = field.array->shape,
                    .bytes = field.longest};
    } else if (field.array.has_value()) {
      const pipeline::TensorType value = ElementsOf(field);
      FOREBAY_RETURN_IF_ERROR(SetArray(field, value, pipelines, &type));
    } else if (field.kind == FieldKind::kArray) {
      FOREBAY_ASSIGN_OR_RETURN(const auto file,
                               FirstBytes(values[i], first_sample));
      FOREBAY_ASSIGN_OR_RETURN(const pipeline::TensorType value,
                               FirstArray(field, file));
      type.header_bytes =
          file.size() - std::min<std::uint64_t>(file.size(), value.bytes);
      FOREBAY_RETURN_IF_ERROR(SetArray(field, value, pipelines, &type));
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
