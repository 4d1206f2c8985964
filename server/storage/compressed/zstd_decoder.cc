#include "server/storage/compressed/zstd_decoder.h"

#include <zstd.h>

#include "absl/strings/str_cat.h"

namespace forebay::storage::compressed {

struct ZstdDecoder::State {
  ~State() { ZSTD_freeDCtx(context); }

  ZSTD_DCtx* context = ZSTD_createDCtx();  // null: there is no memory
};

ZstdDecoder::ZstdDecoder(int most_window_log)
    : state_(std::make_unique<State>()) {
  if (state_->context != nullptr) {
    ZSTD_DCtx_setParameter(state_->context, ZSTD_d_windowLogMax,
                           most_window_log);
  }
}

ZstdDecoder::~ZstdDecoder() = default;

absl::StatusOr<ZstdDecoder::Step> ZstdDecoder::Decode(
    absl::Span<const std::uint8_t> compressed, absl::Span<std::uint8_t> out) {
  if (state_->context == nullptr)
    return absl::ResourceExhaustedError(
        "there is no memory to decompress with");
  ZSTD_inBuffer in = {compressed.data(), compressed.size(), 0};
  ZSTD_outBuffer output = {out.data(), out.size(), 0};
  const std::size_t code = ZSTD_decompressStream(state_->context, &output, &in);
  if (ZSTD_isError(code) != 0) {
    return absl::DataLossError(absl::StrCat("its compressed data is damaged (",
                                            ZSTD_getErrorName(code), ")"));
  }
  return Step{in.pos, output.pos, code == 0};
}

void ZstdDecoder::Reset() {
  if (state_->context != nullptr)
    ZSTD_DCtx_reset(state_->context, ZSTD_reset_session_only);
}

}  // namespace forebay::storage::compressed
