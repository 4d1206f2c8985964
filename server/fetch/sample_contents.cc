// A sample is made in two passes. The first pass finds each field's type, its
// size in the window, and the bytes from which it is made. This pass decodes
// neither images nor clips. After it, the reader knows how large a window it
// needs. The second pass writes each field to its place, and decodes images,
// clips and TIFF files.
#include "server/fetch/sample_contents.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/audio/any_clip_decoder.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/pipeline/tiff_array.h"
#include "server/pipeline/whole_image.h"
#include "server/sample/annotate_error.h"
#include "server/sample/field_decoder.h"

namespace forebay::fetch {
namespace {

using proto::DType;

// Sets the type, the shape and the size of `content` to those of `type`.
void SetType(const pipeline::TensorType& type, Content* content) {
  FOREBAY_CHECK(type.shape.size() <= proto::kMaxRank);
  proto::FetchedField& field = content->field;
  field.dtype = type.dtype;
  field.rank = static_cast<std::uint32_t>(type.shape.size());
  std::copy(type.shape.begin(), type.shape.end(), field.shape);
  field.bytes = type.bytes;
}

// Decodes all of an audio file into `out`.
absl::Status DecodeClip(absl::Span<const std::uint8_t> file,
                        absl::Span<std::uint8_t> out) {
  audio::AnyClipDecoder decoder;
  FOREBAY_RETURN_IF_ERROR(decoder.Open(file).status());
  return decoder.Decode(0, absl::MakeSpan(reinterpret_cast<float*>(out.data()),
                                          out.size() / sizeof(float)));
}

// Measures the fields of a sample. Copies no bytes, and decodes only integers.
class Measurement final : public sample::FieldTarget {
 public:
  Measurement(const ReaderSpec* spec, std::uint64_t id,
              absl::Span<const std::uint8_t> read,
              dataset::DecompressionRoom room, pipeline::Workspace* workspace)
      : spec_(spec), id_(id), read_(read), room_(room), workspace_(workspace) {
    for (const dataset::Field& field : spec->dataset->fields())
      contents_.emplace_back().field.kind = field.kind;
  }

  void SetNumber(std::size_t field, std::int64_t number) override {
    SetType({.dtype = DType::kInt64, .shape = {}, .bytes = sizeof(number)},
            &contents_[field]);
    contents_[field].number = number;
  }
  void SetBytes(std::size_t field,
                absl::Span<const std::uint8_t> bytes) override {
    Set(field, bytes,
        {.dtype = DType::kUint8,
         .shape = {bytes.size()},
         .bytes = bytes.size()});
  }
  absl::Status SetElements(std::size_t field,
                           absl::Span<const std::uint8_t> elements) override {
    const dataset::ArrayType& type = *spec_->dataset->fields()[field].array;
    Set(field, elements,
        {.dtype = type.dtype, .shape = type.shape, .bytes = elements.size()});
    return absl::OkStatus();
  }
  absl::Status SetArray(std::size_t field,
                        const pipeline::Array& array) override {
    Set(field, array.items, array.type);
    return absl::OkStatus();
  }
  absl::Status SetTiff(std::size_t field,
                       absl::Span<const std::uint8_t> file) override {
    if (!spec_->decode) {
      contents_[field].field.kind = proto::FieldKind::kBytes;
      SetBytes(field, file);
      return absl::OkStatus();
    }
    FOREBAY_ASSIGN_OR_RETURN(const pipeline::TensorType type,
                             pipeline::TypeOfTiff(file, workspace_->limits()));
    contents_[field].is_tiff = true;
    Set(field, file, type);
    return absl::OkStatus();
  }
  absl::Status SetAudio(std::size_t field,
                        absl::Span<const std::uint8_t> file) override {
    if (!spec_->decode) {
      contents_[field].field.kind = proto::FieldKind::kBytes;
      SetBytes(field, file);
      return absl::OkStatus();
    }
    audio::AnyClipDecoder decoder;
    FOREBAY_ASSIGN_OR_RETURN(const audio::ClipInfo clip, decoder.Open(file));
    contents_[field].field.kind = proto::FieldKind::kArray;
    contents_[field].is_audio = true;
    Set(field, file,
        {.dtype = DType::kFloat32,
         .shape = {clip.frames, clip.channels},
         .bytes = clip.frames * clip.channels * sizeof(float)});
    return absl::OkStatus();
  }
  absl::Status SetImage(std::size_t field,
                        const dataset::FieldValue& image) override {
    FOREBAY_ASSIGN_OR_RETURN(
        const auto bytes,
        sample::ImageBytes(*spec_->dataset, id_, read_, image, room_));
    if (!spec_->decode) {
      SetBytes(field, bytes);
    } else if (spec_->pipeline != nullptr) {
      Set(field, bytes, spec_->pipeline->output());
    } else {
      FOREBAY_ASSIGN_OR_RETURN(const pipeline::TensorType type,
                               pipeline::TypeOfWholeImage(bytes, *workspace_));
      Set(field, bytes, type);
    }
    return absl::OkStatus();
  }

  std::vector<Content> Take() { return std::move(contents_); }

 private:
  void Set(std::size_t field, absl::Span<const std::uint8_t> bytes,
           const pipeline::TensorType& type) {
    SetType(type, &contents_[field]);
    contents_[field].bytes = bytes;
  }

  const ReaderSpec* const spec_;
  const std::uint64_t id_;
  const absl::Span<const std::uint8_t> read_;
  const dataset::DecompressionRoom room_;
  pipeline::Workspace* const workspace_;
  std::vector<Content> contents_;
};

}  // namespace

absl::StatusOr<std::vector<Content>> MeasureSample(
    const ReaderSpec& spec, std::uint64_t id,
    absl::Span<const std::uint8_t> read, dataset::ValueBuffers& buffers,
    dataset::DecompressionRoom room, pipeline::Workspace& workspace) {
  Measurement measurement(&spec, id, read, room, &workspace);
  FOREBAY_RETURN_IF_ERROR(
      sample::DecodeFields(*spec.dataset, id, read, buffers, measurement));
  return measurement.Take();
}

bool IsDecoded(const ReaderSpec& spec, const Content& content) {
  return content.is_audio || content.is_tiff ||
         (spec.decode && content.field.kind == proto::FieldKind::kImage);
}

absl::Status MakeContent(const ReaderSpec& spec, std::uint64_t id,
                         std::size_t field, const Content& content,
                         pipeline::Workspace& workspace,
                         absl::Span<std::uint8_t> out) {
  if (IsDecoded(spec, content)) {
    const absl::Status status =
        content.is_audio  ? DecodeClip(content.bytes, out)
        : content.is_tiff ? pipeline::ReadTiff(content.bytes, workspace, out)
        : spec.pipeline != nullptr
            ? spec.pipeline->Run(content.bytes,
                                 {.seed = 0, .epoch = 0, .sample = id},
                                 workspace, out)
            : pipeline::DecodeWholeImage(content.bytes, workspace, out);
    return status.ok()
               ? status
               : sample::AnnotateFieldError(*spec.dataset, id, field, status);
  }
  if (content.field.kind == proto::FieldKind::kLabel) {
    std::memcpy(out.data(), &content.number, sizeof(content.number));
  } else {
    std::copy(content.bytes.begin(), content.bytes.end(), out.begin());
  }
  return absl::OkStatus();
}

}  // namespace forebay::fetch
