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

// Returns the number of the variant in which the cache may hold the first image
// of each sample for a stream.
storage::Variant VariantNumber(const StreamSpec& spec);

// Makes the first image of each sample of a stream, from its cached variant if
// the cache has it. If not, decodes the image. If it pays, decodes the whole
// variant, which is more than this stream needs, and offers the variant to the
// cache for the next reader. The image is the same either way. In a coordinated
// order, tells the coordinator whether each sample's variant is cached.
//
// The bytes of a variant are the image's pixels. If other fields are read from
// the sample too, all its encoded bytes precede the pixels.
//
// Thread-safe, if each caller has a workspace of its own. Owns its cost
// estimates; spec and store outlive it. Make does not wait, and computes for as
// long as decoding takes. Errors: those of Pipeline::Run,
// Workspace::RoomToDecompress and sample::ImageBytes.
class CachedDecoder {
 public:
  // If `store` is null, no variant is offered.
  CachedDecoder(const StreamSpec* spec, cache::VariantStore* store);

  // Returns the variant that read requests prefer; kEncoded if there is none.
  storage::Variant variant() const { return variant_; }

  // Makes the image of a sample in `room`. `read` holds the bytes that were
  // read, in the variant `pending.variant`. If that is kEncoded, `image` says
  // where the image lies (sample::ImageBytes). A compressed image is
  // decompressed into the workspace. If the workspace is too small
  // (WantsLarger), nothing is booked: the caller calls again with a larger one.
  absl::Status Make(const PendingSample& pending,
                    const pipeline::SampleKey& key,
                    absl::Span<const std::uint8_t> read,
                    const dataset::FieldValue& image,
                    pipeline::Workspace& workspace,
                    absl::Span<std::uint8_t> room);

 private:
  class Offer;

  // Tells the coordinator that the sample was decoded, and that its variant is
  // not cached.
  void TellMissed(const PendingSample& pending) const;
  // Tells the coordinator that the sample's variant, of `bytes` bytes, is
  // cached.
  void TellCached(const PendingSample& pending, std::uint64_t bytes) const;

  const StreamSpec* const spec_;
  cache::VariantStore* const store_;
  const sample::SampleIdentity identity_;
  // Whether other fields than the first image are read from a sample.
  bool has_other_parts_ = false;
  storage::Variant variant_ = storage::kEncoded;
  DecodeCosts costs_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_CACHED_DECODER_H_
