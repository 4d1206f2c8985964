#ifndef FOREBAY_SERVER_PIPELINE_DECODE_NETPBM_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_NETPBM_DECODER_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes Netpbm's binary images from where their rows lie: PBM (P4), PGM (P5)
// and PPM (P6), of any largest value. Like Pillow, it scales colors and 8-bit
// gray to 255, and clips 16-bit gray at 255. Bytes behind the rows are ignored.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. The text
// forms (P1, P2, P3) are DATA_LOSS, too, by name.
class NetpbmDecoder : public ImageDecoder {
 public:
  explicit NetpbmDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // Reads what follows the magic number, and leaves the rows in rows_.
  absl::Status ReadHeader(absl::Span<const std::uint8_t> encoded);
  void SetLevels(std::uint32_t largest);
  std::uint64_t RowBytes() const;
  // Writes `count` pixels of a row, from `left` on, to `rgb`.
  void Widen(const std::uint8_t* row, std::uint32_t left, std::uint32_t count,
             std::uint8_t* rgb) const;
  std::uint8_t LevelAt(const std::uint8_t* row, std::uint64_t sample) const;

  const DecodeLimits limits_;
  absl::Span<const std::uint8_t> rows_;  // empty if nothing is open
  ImageInfo info_;
  char kind_ = 0;              // the magic number's digit
  std::uint32_t largest_ = 0;  // value of a sample
  // The 8-bit level of each value of one byte.
  std::array<std::uint8_t, 256> levels_{};
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_NETPBM_DECODER_H_
