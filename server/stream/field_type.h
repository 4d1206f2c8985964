#ifndef FOREBAY_SERVER_STREAM_FIELD_TYPE_H_
#define FOREBAY_SERVER_STREAM_FIELD_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/dataset/dataset.h"
#include "server/pipeline/pipeline.h"

namespace forebay::stream {

// What a field of a dataset becomes in a batch.
struct FieldType {
  std::string name;
  proto::FieldKind kind = proto::FieldKind::kBytes;
  // One sample's. Of a field that varies, the longest that there is.
  pipeline::TensorType value;
  // Of an array: whether its bytes are its elements alone, and no .npy file.
  bool bare = false;

  // Whether samples are bytes of different lengths.
  bool varies() const {
    return kind == proto::FieldKind::kText || kind == proto::FieldKind::kJson ||
           kind == proto::FieldKind::kBytes;
  }
};

// Whether `dataset` has a field of that kind.
bool HasField(const dataset::Dataset& dataset, proto::FieldKind kind);

// Whether its sample number 0 must be seen to know what its fields become:
// whether one is an array that says itself what it is.
bool NeedsFirstSample(const dataset::Dataset& dataset);

// The types of all fields of `dataset`. `image` is what its image becomes, or
// null if it has none. `first_sample`: the bytes of its sample number 0, or
// nothing where they are not needed. UNIMPLEMENTED: it has several images, and
// what pipeline::ReadArray says of its first arrays; DATA_LOSS likewise. Errors
// name the field. Thread-safe; never blocks.
absl::StatusOr<std::vector<FieldType>> TypesOf(
    const dataset::Dataset& dataset, const pipeline::TensorType* image,
    absl::Span<const std::uint8_t> first_sample);

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_FIELD_TYPE_H_
