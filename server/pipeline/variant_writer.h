#ifndef FOREBAY_SERVER_PIPELINE_VARIANT_WRITER_H_
#define FOREBAY_SERVER_PIPELINE_VARIANT_WRITER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"
#include "server/pipeline/sample_view.h"
#include "server/pipeline/transform/render.h"

namespace forebay::pipeline {

// Returns the size in bytes of the raw image, header included, that `view`
// shows.
std::uint64_t VariantBytes(const transform::View& view);

// Writes the raw image that `sample` shows into `variant`, which has
// VariantBytes bytes. `whole` says that `sample` shows the whole image that
// `decoder` opened and `info` describes. The rows are then copied without
// rendering. Never blocks. Errors: those of SampleView::Render.
absl::Status WriteVariant(SampleView& sample, const decode::ImageInfo& info,
                          bool whole, decode::ImageDecoder& decoder,
                          absl::Span<std::uint8_t> variant);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_VARIANT_WRITER_H_
