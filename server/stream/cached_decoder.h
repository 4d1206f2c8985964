#ifndef FOREBAY_SERVER_STREAM_CACHED_DECODER_H_
#define FOREBAY_SERVER_STREAM_CACHED_DECODER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/cache/variant_store.h"
#include "server/dataset/dataset.h"
#include "server/pipeline/pipeline.h"
#include "server/pipeline/workspace.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/decode_costs.h"
#include "server/stream/sample_identity.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// The number of the variant of its images that a stream can use; kEncoded:
// none.
storage::Variant VariantNumber(const StreamSpec& spec);

// Makes a stream's images, from their variant where the cache has that, and
// offers it the variant where it has not: then more is decoded than this stream
// needs, for whoever wants the sample next. The image is the same either way.
// Where the order is coordinated, the coordinator is told.
//
// In that variant, a sample's bytes are the image's raw variant; if other
// fields are read from them too, behind all that was read.
//
// Thread-safe, each caller with a workspace of its own. The spec belongs to
// the stream, which outlives it, as the keeper does. Make computes for as long
// as decoding takes. Errors: those of Pipeline::Run.
class CachedDecoder {
 public:
  // `keeper` null: nothing is kept but what was read.
  CachedDecoder(const StreamSpec* spec, cache::VariantStore* keeper);

  // What requests prefer; kEncoded where there is no choice.
  storage::Variant variant() const { return variant_; }

  // Makes the image of the place's sample. `bytes` are what was read, in the
  // place's variant; `image` is where it lies in them if they are encoded. An
  // image that wants a larger workspace counts when it is made in that.
  absl::Status Make(const PendingSample& pending,
                    const pipeline::SampleKey& key,
                    absl::Span<const std::uint8_t> bytes,
                    const dataset::FieldRange& image,
                    pipeline::Workspace& workspace,
                    absl::Span<std::uint8_t> room);

 private:
  class Offer;

  storage::ReadRequest RequestOf(std::uint64_t sample) const;
  void TellMissed(const PendingSample& pending) const;
  void TellKept(const PendingSample& pending, std::uint64_t bytes) const;

  const StreamSpec* const spec_;
  cache::VariantStore* const keeper_;
  const SampleIdentity identity_;
  bool has_other_parts_ = false;
  storage::Variant variant_ = storage::kEncoded;
  DecodeCosts costs_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_CACHED_DECODER_H_
