#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_IMAGES_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/pipeline/decode/image_decoder.h"

namespace forebay::pipeline::decode {

struct GoldenPixel {
  std::uint32_t x, y;
  std::uint8_t rgb[3];
};

// A line of golden.txt: an image as Pillow decodes it.
struct GoldenImage {
  std::string name;
  std::uint32_t width, height;
  std::uint32_t crc;  // of all pixels, RGB, row by row
  std::vector<GoldenPixel> pixels;
};

std::vector<GoldenImage> GoldenImages();
// Returns the names of images that Pillow refuses.
std::vector<std::string> RefusedImages();
std::vector<std::uint8_t> GoldenFile(const std::string& name);

// Decodes the top row alone.
absl::Status DecodeTop(ImageDecoder& decoder,
                       const std::vector<std::uint8_t>& file);

// Where files are cut: after `first` bytes and at every `step`th byte from
// there, but not in the last `unneeded` bytes.
struct Cuts {
  std::size_t first = 0;
  std::size_t step = 3;
  std::size_t unneeded = 0;
};
// Expects DATA_LOSS of each golden file that is cut as `cuts` says, though only
// its top row is asked for.
void ExpectTruncationsFound(ImageDecoder& decoder,
                            const std::vector<std::string>& names,
                            const Cuts& cuts);

// A sink that gathers a region's rows without gaps, and checks that they come
// in order.
class PixelSink : public RowSink {
 public:
  explicit PixelSink(const Region& region) : region_(region) {}

  void Rows(std::uint32_t first_row, std::uint32_t count,
            const std::uint8_t* rgb, std::size_t stride_bytes) override;

  const std::vector<std::uint8_t>& pixels() const { return pixels_; }
  std::uint32_t rows() const { return rows_; }

 private:
  const Region region_;
  std::uint32_t rows_ = 0;
  // The sum of the padding that a sink may read.
  unsigned padding_sum_ = 0;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_IMAGES_H_
