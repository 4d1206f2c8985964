#ifndef FOREBAY_SERVER_STREAM_SAMPLE_CONTENTS_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_CONTENTS_H_

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

namespace forebay::stream {

// How a reader's samples are made.
struct ReaderSpec {
  std::shared_ptr<const dataset::Dataset> dataset;
  // Whether images are decoded: by the pipeline, or whole if that is null.
  bool decode = false;
  std::shared_ptr<const pipeline::Pipeline> pipeline;
};

// One field of a sample, measured: what it will be, and of which bytes.
struct Content {
  proto::FetchedField field = {};  // lacks its offset
  // Points into the sample's bytes, or the dataset; nothing where `number` is
  // the value.
  absl::Span<const std::uint8_t> bytes;
  std::int64_t number = 0;
};

// What sample `id` has of each field; `encoded` is all that was read of it.
// Thread-safe, each caller with a workspace of its own; does not block. Errors
// name sample, object and field: those of the fields' decoders.
absl::StatusOr<std::vector<Content>> MeasureSample(
    const ReaderSpec& spec, std::uint64_t id,
    absl::Span<const std::uint8_t> encoded, pipeline::Workspace& workspace);

// Whether making it takes the time of decoding.
bool IsDecoded(const ReaderSpec& spec, const Content& content);

// Makes field number `field` of sample `id` in `out`, which is as long as was
// measured. As MeasureSample.
absl::Status MakeContent(const ReaderSpec& spec, std::uint64_t id,
                         std::size_t field, const Content& content,
                         pipeline::Workspace& workspace,
                         absl::Span<std::uint8_t> out);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_CONTENTS_H_
