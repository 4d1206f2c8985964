#ifndef FOREBAY_SERVER_STREAM_CACHED_DECODER_H_
#define FOREBAY_SERVER_STREAM_CACHED_DECODER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/cache/variant_store.h"
#include "server/dataset/dataset.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"
#include "server/sample/sample_identity.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/decode_costs.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// The number of the variant of its images, the first of each sample, that a
// stream can use; kEncoded if there is none.
storage::Variant VariantNumber(const StreamSpec& spec);

// Makes a stream's images, the first of each sample, from their cached variant.
// Where the cache lacks it,
// decodes more than this stream needs and offers the variant to the cache, for
// the next reader of the sample. The image is the same either way. Tells the
// coordinator of a coordinated order what became of each sample.
//
// The bytes of a variant are the image's pixels. If other fields are read from
// a sample too, all that was read of it stands before them.
//
// Thread-safe, each caller with a workspace of its own. Spec and store outlive
// it. Make computes for as long as decoding takes. Errors: those of
// Pipeline::Run, Workspace::RoomToUnpack and sample::ImageBytes.
class CachedDecoder {
 public:
  // Offers nothing if `store` is null.
  CachedDecoder(const StreamSpec* spec, cache::VariantStore* store);

  // The variant that requests prefer; kEncoded if there is none.
  storage::Variant variant() const { return variant_; }

  // Makes the image of a sample in `room`. `read` is what was read, in the
  // sample's variant; `image` is the image's value, for sample::ImageBytes, if
  // that is kEncoded. It is unpacked into the workspace if it is packed. An
  // image that needs a larger workspace is counted when it is made there.
  absl::Status Make(const PendingSample& pending,
                    const pipeline::SampleKey& key,
                    absl::Span<const std::uint8_t> read,
                    const dataset::FieldValue& image,
                    pipeline::Workspace& workspace,
                    absl::Span<std::uint8_t> room);

 private:
  class Offer;

  void TellMissed(const PendingSample& pending) const;
  void TellKept(const PendingSample& pending, std::uint64_t bytes) const;

  const StreamSpec* const spec_;
  cache::VariantStore* const store_;
  const sample::SampleIdentity identity_;
  bool has_other_parts_ = false;
  storage::Variant variant_ = storage::kEncoded;
  DecodeCosts costs_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_CACHED_DECODER_H_
