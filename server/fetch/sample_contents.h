#ifndef FOREBAY_SERVER_FETCH_SAMPLE_CONTENTS_H_
#define FOREBAY_SERVER_FETCH_SAMPLE_CONTENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/shm_fetch.h"
#include "server/dataset/dataset.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"

namespace forebay::fetch {

// How a reader's samples are made.
struct ReaderSpec {
  std::shared_ptr<const dataset::Dataset> dataset;
  // Whether images are decoded: by the pipeline, or whole if that is null.
  bool decode = false;
  std::shared_ptr<const pipeline::Pipeline> pipeline;
};

// One field of a sample, measured: its type and size, and the bytes that it is
// made of.
struct Content {
  proto::FetchedField field = {};  // lacks its offset
  // Points into the sample's bytes, what was made of them, or the dataset;
  // empty where `number` is the value.
  absl::Span<const std::uint8_t> bytes;
  std::int64_t number = 0;
  // Whether the bytes are an audio file or a TIFF image, to be decoded as an
  // array.
  bool is_audio = false;
  bool is_tiff = false;
};

// Measures each field of sample `id`; `read` is all that was read of it. Keeps
// in `made` what contents point to besides that, and in `room` images that are
// packed. Thread-safe, each caller with a workspace of its own; does not block.
// Errors: those of sample::DecodeFields and sample::ImageBytes.
absl::StatusOr<std::vector<Content>> MeasureSample(
    const ReaderSpec& spec, std::uint64_t id,
    absl::Span<const std::uint8_t> read, dataset::MadeValues& made,
    dataset::UnpackRoom room, pipeline::Workspace& workspace);

// Whether MakeContent takes the time of decoding.
bool IsDecoded(const ReaderSpec& spec, const Content& content);

// Makes field number `field` of sample `id` in `out`, which is as long as was
// measured. As MeasureSample.
absl::Status MakeContent(const ReaderSpec& spec, std::uint64_t id,
                         std::size_t field, const Content& content,
                         pipeline::Workspace& workspace,
                         absl::Span<std::uint8_t> out);

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_SAMPLE_CONTENTS_H_
