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
#include "server/length_scan/value_sizes.h"
#include "server/pipeline/array_transform.h"
#include "server/pipeline/pipeline.h"

namespace forebay::stream {

// The type of a dataset's field in a batch.
struct FieldType {
  std::string name;
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // The type of one value; if the field varies, of the longest value.
  pipeline::TensorType value;
  // Whether the field lies on the host even for members on GPUs.
  bool on_host = false;
  // Whether the field is an array whose first axis differs from sample to
  // sample.
  bool ragged = false;
  // The bytes of a .npy file before its first element; 0 for other fields.
  std::uint64_t header_bytes = 0;
  // The number of frames for each byte of an audio clip's file; it bounds the
  // clip's length. 0 if the field is not a clip.
  std::uint64_t frames_per_byte = 0;
  // Whether the field is an array that is decoded from a TIFF image.
  bool is_tiff = false;
  // The pipeline of an array or a clip. Null if the field is neither, or if
  // workers make its values.
  std::shared_ptr<const pipeline::ArrayTransform> pipeline = nullptr;
  // The pipeline that makes each image; null if the field is not an image.
  std::shared_ptr<const pipeline::Pipeline> image = nullptr;

  // Whether values differ in length.
  bool varies() const {
    return ragged || kind == proto::FieldKind::kText ||
           kind == proto::FieldKind::kJson || kind == proto::FieldKind::kBytes;
  }
  bool is_clip() const { return frames_per_byte > 0; }
  // Returns the most elements that a ragged array may have along its first
  // axis. The index says that the array's file or value has `bytes` bytes;
  // `header` of these precede the elements.
  std::uint64_t ElementsIn(std::uint64_t bytes, std::uint64_t header) const;
  // Returns what the pipeline makes of a value whose size a length scan
  // measured.
  pipeline::Outcome OutcomeOf(const length_scan::ValueSize& size) const;
  // Returns the number of bytes of a ragged array at each index of its first
  // axis; 1 for other fields.
  std::uint64_t BytesOfEach() const;
  // Returns where the field lies for members at `place`.
  proto::Place PlaceFor(proto::Place place) const {
    return varies() || on_host ? proto::Place::kHost : place;
  }
};

// Whether `dataset` has a field of kind `kind`.
bool HasField(const dataset::Dataset& dataset, proto::FieldKind kind);

// The first sample of a dataset that can be read, and its bytes.
struct FirstSample {
  std::uint64_t id = 0;
  absl::Span<const std::uint8_t> bytes;
};

// Whether the first sample must be read to know the types of the dataset's
// fields. That is so if a field is a clip, or an array whose type only its own
// header tells.
bool NeedsFirstSample(const dataset::Dataset& dataset);

// The pipelines of a dataset's fields, by field number; null for fields that
// are not images. Empty if no field is an image.
using ImagePipelines = std::vector<std::shared_ptr<const pipeline::Pipeline>>;
using FieldPipelines = google::protobuf::RepeatedPtrField<proto::FieldPipeline>;

// Returns the pipeline of the field that is named `field`; null if it has none.
const proto::FieldPipeline* PipelineOf(const FieldPipelines& pipelines,
                                       std::string_view field);

// Checks that each of `pipelines` belongs to a different field of `dataset`, of
// a kind that has pipelines. INVALID_ARGUMENT names the first pipeline that
// does not.
absl::Status CheckPipelines(const dataset::Dataset& dataset,
                            const FieldPipelines& pipelines);

// Returns the types of all fields of `dataset`. `images` has the pipelines of
// its image fields. CheckPipelines has accepted `pipelines`. `first` has no
// bytes if NeedsFirstSample is false. Compressed parts of the first sample are
// decompressed into `room`. Thread-safe; never blocks.
//
// Errors name the sample or the dataset, and the field. UNIMPLEMENTED and
// DATA_LOSS come from pipeline::ReadArray or TypeOfTiff for an array, and from
// audio::ClipDecoder for a clip. INVALID_ARGUMENT: a pipeline does not fit its
// array.
absl::StatusOr<std::vector<FieldType>> TypesOf(const dataset::Dataset& dataset,
                                               const ImagePipelines& images,
                                               const FieldPipelines& pipelines,
                                               const FirstSample& first,
                                               dataset::DecompressionRoom room);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_FIELD_TYPE_H_
