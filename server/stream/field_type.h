#ifndef FOREBAY_SERVER_STREAM_FIELD_TYPE_H_
#define FOREBAY_SERVER_STREAM_FIELD_TYPE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "proto/shm_layout.h"
#include "server/dataset/dataset.h"
#include "server/pipeline/array_transform.h"
#include "server/pipeline/pipeline.h"
#include "server/survey/value_sizes.h"

namespace forebay::stream {

// The type of a dataset's field in a batch.
struct FieldType {
  std::string name;
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // Of one sample; of the longest, if the field varies.
  pipeline::TensorType value;
  // Whether it lies on the host even for members on GPUs.
  bool on_host = false;
  // Whether it is an array whose first axis differs from sample to sample.
  bool ragged = false;
  // Bytes before the first sample's elements: of .npy files.
  std::uint64_t header_bytes = 0;
  // Of clips, which are arrays that are decoded: frames for each byte, as many
  // as there usually are at most. 0: it is no clip.
  std::uint64_t frames_per_byte = 0;
  // Whether it is an array that is decoded from a TIFF image.
  bool is_tiff = false;
  // Makes each value of an array that is read. Null: it is no array, or its
  // values are made elsewhere.
  std::shared_ptr<const pipeline::ArrayTransform> pipeline = nullptr;
  // Makes each image. Null: it is none.
  std::shared_ptr<const pipeline::Pipeline> image = nullptr;

  // Whether samples differ in length.
  bool varies() const {
    return ragged || kind == proto::FieldKind::kText ||
           kind == proto::FieldKind::kJson || kind == proto::FieldKind::kBytes;
  }
  bool is_clip() const { return frames_per_byte > 0; }
  // Elements along the first axis of an array that is ragged, of which the
  // index counts so many bytes, `header` of them before its elements; at most.
  std::uint64_t ElementsIn(std::uint64_t bytes, std::uint64_t header) const;
  // Returns what becomes of a value whose size was measured.
  pipeline::Outcome OutcomeOf(const survey::ValueSize& size) const;
  // Bytes of what an array that is ragged has at each index of its first axis;
  // 1 of other fields.
  std::uint64_t BytesOfEach() const;
  // Where it lies for members at `place`.
  proto::Place PlaceFor(proto::Place place) const {
    return varies() || on_host ? proto::Place::kHost : place;
  }
};

// Whether `dataset` has a field of that kind.
bool HasField(const dataset::Dataset& dataset, proto::FieldKind kind);

// The first sample that can be read, and its bytes.
struct FirstSample {
  std::uint64_t id = 0;
  absl::Span<const std::uint8_t> bytes;
};

// Whether it must be read to know the types of the dataset's fields: one is an
// array whose own header says its type, or a clip.
bool NeedsFirstSample(const dataset::Dataset& dataset);

// The pipelines of a dataset's fields that are images; null for other fields.
// Empty: no field is an image.
using ImagePipelines = std::vector<std::shared_ptr<const pipeline::Pipeline>>;
using FieldPipelines = google::protobuf::RepeatedPtrField<proto::FieldPipeline>;

// The pipeline of that field; null if it has none.
const proto::FieldPipeline* PipelineOf(const FieldPipelines& pipelines,
                                       std::string_view field);

// Checks that each of `pipelines` is of another field of `dataset`, of a kind
// that has them. INVALID_ARGUMENT names the first that is not.
absl::Status CheckPipelines(const dataset::Dataset& dataset,
                            const FieldPipelines& pipelines);

// Returns the types of all fields of `dataset`, which has `images`, and whose
// `pipelines` were checked.
// `first` has no bytes if NeedsFirstSample is false; `room` is for what is
// unpacked of it. UNIMPLEMENTED and DATA_LOSS: pipeline::ReadArray or
// TypeOfTiff says so of its arrays, or audio::ClipDecoder of its clips.
// INVALID_ARGUMENT: a pipeline cannot be made of the array. Errors name the
// sample, or else the dataset, and the field. Thread-safe; never blocks.
absl::StatusOr<std::vector<FieldType>> TypesOf(const dataset::Dataset& dataset,
                                               const ImagePipelines& images,
                                               const FieldPipelines& pipelines,
                                               const FirstSample& first,
                                               dataset::UnpackRoom room);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_FIELD_TYPE_H_
