#include "server/stream/field_type.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/audio/any_clip_decoder.h"
#include "server/audio/audio_format.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/array.h"
#include "server/pipeline/tiff_array.h"
#include "server/sample/annotate_error.h"

namespace forebay::stream {
namespace {

using dataset::Field;
using dataset::FieldValue;
using proto::FieldKind;

// The most bytes to which the first clip may be decompressed.
constexpr std::uint64_t kLongestFirstClip = std::uint64_t{1} << 28;
// The most frames of a clip, as in audio::ClipInfo.
constexpr std::uint64_t kMostFrames = std::uint64_t{1} << 40;

// Returns the bytes of a value of the first sample. Errors do not name the
// sample.
absl::StatusOr<absl::Span<const std::uint8_t>> FirstBytes(
    const FieldValue& value, absl::Span<const std::uint8_t> first_sample) {
  if (const auto* const computed = std::get_if<dataset::ComputedBytes>(&value))
    return computed->bytes;
  const auto* const part = std::get_if<dataset::FieldRange>(&value);
  FOREBAY_CHECK(part != nullptr);
  if (part->offset > first_sample.size() ||
      part->length > first_sample.size() - part->offset) {
    return absl::DataLossError("is shorter than its index says");
  }
  return first_sample.subspan(part->offset, part->length);
}

// Returns the bytes of a clip of the first sample, which may be compressed.
// `buffers` keeps decompressed bytes.
absl::StatusOr<absl::Span<const std::uint8_t>> FirstClip(
    const dataset::Dataset& dataset, const FieldValue& value,
    const FirstSample& first, dataset::ValueBuffers* buffers) {
  const auto* const compressed = std::get_if<dataset::CompressedRange>(&value);
  if (compressed == nullptr) return FirstBytes(value, first.bytes);
  FOREBAY_ASSIGN_OR_RETURN(const auto bytes,
                           FirstBytes(compressed->range, first.bytes));
  const auto room =
      [buffers](
          std::uint64_t length) -> absl::StatusOr<absl::Span<std::uint8_t>> {
    if (length <= kLongestFirstClip) return buffers->Add(length);
    return absl::ResourceExhaustedError(
        absl::StrCat("has ", length, " bytes when it is decompressed"));
  };
  return dataset.Decompress(first.id, bytes, room);
}

// Returns the type of a .npy file, by its header.
absl::StatusOr<pipeline::TensorType> TypeOfNpy(
    absl::Span<const std::uint8_t> file) {
  FOREBAY_ASSIGN_OR_RETURN(pipeline::Array array, pipeline::ReadArray(file));
  return std::move(array.type);
}

std::string NamesOf(const std::vector<Field>& fields) {
  return absl::StrJoin(fields, ", ",
                       [](std::string* names, const Field& field) {
                         names->append(field.name);
                       });
}

// Returns the type of the longest array of a field whose bytes are only
// elements.
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

// Makes the pipeline of field number `index`, an array, and sets the field's
// type to the pipeline's result. `first` is the type of the first sample's
// array; `longest` bounds the bytes of arrays that differ in length.
absl::Status SetArray(const dataset::Dataset& dataset, std::size_t index,
                      const pipeline::TensorType& first,
                      std::optional<std::uint64_t> longest,
                      std::uint32_t first_rate, const FieldPipelines& pipelines,
                      FieldType* type) {
  static const google::protobuf::RepeatedPtrField<proto::Op> none;
  const std::string& name = dataset.fields()[index].name;
  const proto::FieldPipeline* const wanted = PipelineOf(pipelines, name);
  auto transform = pipeline::ArrayTransform::Create(
      wanted == nullptr ? none : wanted->ops(), first, longest, first_rate);
  if (!transform.ok())
    return base::Annotate(base::Annotate(transform.status(), name),
                          dataset.uri());
  type->value = (*transform)->output().tensor;
  type->ragged = (*transform)->output().ragged_axis.has_value();
  type->pipeline = *std::move(transform);
  return absl::OkStatus();
}

// Returns the length in bytes of the longest array of a ragged field; nullopt
// for other fields.
std::optional<std::uint64_t> LongestOf(const Field& field) {
  return field.ragged() ? std::optional(field.longest) : std::nullopt;
}

// Sets the type of a field whose values are files that tell their own array
// type. `file` is the first of them, of sample `id`.
absl::Status SetFiles(const dataset::Dataset& dataset, std::size_t index,
                      std::uint64_t id, absl::Span<const std::uint8_t> file,
                      const FieldPipelines& pipelines, FieldType* type) {
  type->is_tiff = pipeline::IsTiff(file);
  const auto first =
      type->is_tiff ? pipeline::TypeOfTiff(file, {}) : TypeOfNpy(file);
  if (!first.ok())
    return sample::AnnotateFieldError(dataset, id, index, first.status());
  // The sizes of compressed images tell nothing about their shapes, so all
  // images must be like the first.
  if (type->is_tiff)
    return SetArray(dataset, index, *first, std::nullopt, 0, pipelines, type);
  type->header_bytes =
      file.size() - std::min<std::uint64_t>(file.size(), first->bytes);
  return SetArray(dataset, index, *first, LongestOf(dataset.fields()[index]), 0,
                  pipelines, type);
}

// If the first op of a clip's pipeline is a Slice of frames that counts from
// the start, returns the frame at which the slice ends. Otherwise returns
// nullopt.
std::optional<std::uint64_t> EndOfSlice(const proto::FieldPipeline* pipeline) {
  if (pipeline == nullptr || pipeline->ops().empty()) return std::nullopt;
  const proto::Op& first = pipeline->ops(0);
  if (!first.has_slice() || !first.slice().has_stop()) return std::nullopt;
  const proto::Slice& slice = first.slice();
  // The axis of the frames, counted from the end.
  constexpr int kFrames = -2;
  const bool of_frames = slice.axis() == 0 || slice.axis() == kFrames;
  if (!of_frames || slice.start() < 0 || slice.stop() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(slice.stop());
}

// Sets the type of a field of audio clips. `file` is the first clip, of sample
// `id`.
absl::Status SetClips(const dataset::Dataset& dataset, std::size_t index,
                      std::uint64_t id, absl::Span<const std::uint8_t> file,
                      const FieldPipelines& pipelines, FieldType* type) {
  const Field& field = dataset.fields()[index];
  audio::AnyClipDecoder decoder;
  const auto clip = decoder.Open(file);
  if (!clip.ok())
    return sample::AnnotateFieldError(dataset, id, index, clip.status());
  // The number of frames per byte bounds the length of other clips. It is at
  // least the format's usual number, because other clips may have more frames
  // for their bytes than the first.
  type->frames_per_byte =
      std::max(audio::UsualFramesPerByte(audio::FormatOf(file)),
               2 * (clip->frames / file.size()));
  std::uint64_t frames = 0;
  if (__builtin_mul_overflow(field.longest, type->frames_per_byte, &frames))
    frames = kMostFrames;
  if (const auto end = EndOfSlice(PipelineOf(pipelines, field.name))) {
    // Every clip may reach the slice's end, however few bytes it has.
    frames = *end;
    type->frames_per_byte = kMostFrames;
  }
  frames = std::min(frames, kMostFrames);
  type->kind = FieldKind::kArray;
  const std::uint64_t each = clip->channels * sizeof(float);
  const pipeline::TensorType first = {.dtype = proto::DType::kFloat32,
                                      .shape = {clip->frames, clip->channels},
                                      .bytes = clip->frames * each};
  FOREBAY_RETURN_IF_ERROR(SetArray(dataset, index, first, frames * each,
                                   clip->sample_rate, pipelines, type));
  if (type->pipeline->input().ragged_axis == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(dataset.uri(), ": ", field.name,
                   ": a RandomWindow takes a part of the channels: take one of "
                   "the frames, axis 0, before"));
}

}  // namespace

std::uint64_t FieldType::ElementsIn(std::uint64_t bytes,
                                    std::uint64_t header) const {
  const pipeline::RaggedArrayType& input = pipeline->input();
  const std::uint64_t most = value.shape.front();
  if (is_clip()) {
    return pipeline->LongestFrom(
        std::min(bytes, kMostFrames / frames_per_byte) * frames_per_byte);
  }
  if (!input.ragged_axis.has_value()) return most;
  const std::uint64_t in = input.tensor.shape[*input.ragged_axis];
  const std::uint64_t each = in == 0 ? 0 : input.tensor.bytes / in;
  if (each == 0) return most;
  return pipeline->LongestFrom(bytes > header ? (bytes - header) / each : 0);
}

pipeline::Outcome FieldType::OutcomeOf(
    const length_scan::ValueSize& size) const {
  if (pipeline == nullptr) return {.length = size.size};
  if (is_clip()) return pipeline->OutcomeOf(size.size, size.rate);
  const pipeline::RaggedArrayType& input = pipeline->input();
  // The bytes at each index of the ragged axis.
  std::uint64_t each = proto::SizeOf(input.tensor.dtype);
  for (std::size_t i = 0; i < input.tensor.shape.size(); ++i)
    if (i != input.ragged_axis.value_or(0)) each *= input.tensor.shape[i];
  return pipeline->OutcomeOf(each == 0 ? 0 : size.size / each, size.rate);
}

std::uint64_t FieldType::BytesOfEach() const {
  if (!ragged) return 1;
  std::uint64_t bytes = proto::SizeOf(value.dtype);
  for (std::size_t i = 1; i < value.shape.size(); ++i) bytes *= value.shape[i];
  return bytes;
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

absl::Status CheckPipelines(const dataset::Dataset& dataset,
                            const FieldPipelines& pipelines) {
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
          absl::StrCat("transform: there is no field ", pipeline.field(),
                       "; there are: ", NamesOf(fields)));
    }
    if (field->kind != FieldKind::kArray && field->kind != FieldKind::kImage &&
        field->kind != FieldKind::kAudio) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform: ", pipeline.field(),
                       " is neither image, audio nor array, which alone have "
                       "transforms"));
    }
    if (PipelineOf(pipelines, pipeline.field()) != &pipeline) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform: ", pipeline.field(), " has two of them"));
    }
  }
  return absl::OkStatus();
}

bool HasField(const dataset::Dataset& dataset, FieldKind kind) {
  return std::any_of(dataset.fields().begin(), dataset.fields().end(),
                     [kind](const Field& field) { return field.kind == kind; });
}

bool NeedsFirstSample(const dataset::Dataset& dataset) {
  return std::any_of(
      dataset.fields().begin(), dataset.fields().end(), [](const Field& field) {
        return field.kind == FieldKind::kAudio ||
               (field.kind == FieldKind::kArray && !field.array.has_value());
      });
}

absl::StatusOr<std::vector<FieldType>> TypesOf(
    const dataset::Dataset& dataset, const ImagePipelines& images,
    const FieldPipelines& pipelines, const FirstSample& first,
    dataset::DecompressionRoom room) {
  const std::vector<Field>& fields = dataset.fields();
  FOREBAY_CHECK(!fields.empty() && fields.size() <= dataset::kMaxDatasetFields);
  std::array<FieldValue, dataset::kMaxDatasetFields> values;
  dataset::ValueBuffers buffers(&room);
  if (NeedsFirstSample(dataset)) {
    const absl::Status found = dataset.ReadValues(
        first.id, first.bytes, absl::MakeSpan(values.data(), fields.size()),
        &buffers);
    if (!found.ok()) {
      return sample::AnnotateSampleError(
          dataset, first.id,
          base::Annotate(found, dataset.At(first.id).object));
    }
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
      FOREBAY_RETURN_IF_ERROR(
          SetArray(dataset, i, value, LongestOf(field), 0, pipelines, &type));
    } else if (field.kind == FieldKind::kAudio) {
      const auto file = FirstClip(dataset, values[i], first, &buffers);
      if (!file.ok())
        return sample::AnnotateFieldError(dataset, first.id, i, file.status());
      FOREBAY_RETURN_IF_ERROR(
          SetClips(dataset, i, first.id, *file, pipelines, &type));
    } else if (field.kind == FieldKind::kArray) {
      const auto file = FirstBytes(values[i], first.bytes);
      if (!file.ok())
        return sample::AnnotateFieldError(dataset, first.id, i, file.status());
      FOREBAY_RETURN_IF_ERROR(
          SetFiles(dataset, i, first.id, *file, pipelines, &type));
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
