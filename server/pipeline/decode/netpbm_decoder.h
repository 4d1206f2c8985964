#ifndef FOREBAY_SERVER_PIPELINE_DECODE_NETPBM_DECODER_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_NETPBM_DECODER_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

// Decodes Netpbm's binary images straight from their rows: PBM (P4), PGM (P5)
// and PPM (P6), with any maximum value. Like Pillow, scales colors and 8-bit
// gray to 255, and clips 16-bit gray at 255. Bytes behind the rows are ignored.
//
// Threads, ownership, blocking and errors are as ImageDecoder says. For text
// images (P1, P2, P3), Open returns DATA_LOSS, and the error names the kind.
class NetpbmDecoder : public ImageDecoder {
 public:
  explicit NetpbmDecoder(const DecodeLimits& limits) : limits_(limits) {}

  absl::StatusOr<ImageInfo> Open(
      absl::Span<const std::uint8_t> encoded) override;
  absl::Status Decode(const Region& region, RowSink& sink) override;

 private:
  // Reads the header behind the magic number, and sets rows_.
  absl::Status ReadHeader(absl::Span<const std::uint8_t> encoded);
  // Fills levels_ for samples from 0 to `largest`.
  void SetLevels(std::uint32_t largest);
  // Returns the size in bytes of a row; a PBM's rows end at whole bytes.
  std::uint64_t RowBytes() const;
  // Writes `count` pixels of a row, from pixel `left` on, to `rgb`.
  void Widen(const std::uint8_t* row, std::uint32_t left, std::uint32_t count,
             std::uint8_t* rgb) const;
  // Returns the 8-bit level of a sample of a row.
  std::uint8_t LevelAt(const std::uint8_t* row, std::uint64_t sample) const;

  const DecodeLimits limits_;
  // The image's rows; empty if no image is open.
  absl::Span<const std::uint8_t> rows_;
  ImageInfo info_;
  // Digit of the magic number: '4', '5' or '6'.
  char kind_ = 0;
  // The header's largest value of a sample.
  std::uint32_t largest_ = 0;
  // The 8-bit level of each value that a sample of one byte may have.
  std::array<std::uint8_t, 256> levels_{};
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_NETPBM_DECODER_H_
