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

// The dataset of a reader, and how its samples are made.
struct ReaderSpec {
  std::shared_ptr<const dataset::Dataset> dataset;
  // Whether images are decoded: by `pipeline`, or as whole images if `pipeline`
  // is null. If false, the sample has the bytes of the image files.
  bool decode = false;
  std::shared_ptr<const pipeline::Pipeline> pipeline;
};

// A measured field of a sample: its type and size, and the bytes from which the
// field is made.
struct Content {
  proto::FetchedField field = {};  // complete except for `offset`
  // Points into the sample's bytes, ValueBuffers, or the dataset. Empty if
  // `number` is the value.
  absl::Span<const std::uint8_t> bytes;
  std::int64_t number = 0;
  // Whether `bytes` is an audio file, or a TIFF image. Both are decoded as
  // arrays.
  bool is_audio = false;
  bool is_tiff = false;
};

// Measures each field of sample `id`. `read` has the bytes of the sample's
// extent. The contents point into `read`; into `buffers`, which keeps bytes
// computed from `read`; and into buffers from `room`, which hold decompressed
// images. Thread-safe if each caller has a workspace of its own. Does not
// block. Errors are those of sample::DecodeFields and sample::ImageBytes.
absl::StatusOr<std::vector<Content>> MeasureSample(
    const ReaderSpec& spec, std::uint64_t id,
    absl::Span<const std::uint8_t> read, dataset::ValueBuffers& buffers,
    dataset::DecompressionRoom room, pipeline::Workspace& workspace);

// Whether MakeContent has to decode the content, and so takes long.
bool IsDecoded(const ReaderSpec& spec, const Content& content);

// Writes field number `field` of sample `id` to `out`, which has the measured
// size. For threads, blocking and errors, see MeasureSample.
absl::Status MakeContent(const ReaderSpec& spec, std::uint64_t id,
                         std::size_t field, const Content& content,
                         pipeline::Workspace& workspace,
                         absl::Span<std::uint8_t> out);

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_SAMPLE_CONTENTS_H_
