#ifndef FOREBAY_TESTS_BENCH_BARE_JPEG_H_
#define FOREBAY_TESTS_BENCH_BARE_JPEG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace forebay::bench {

// A crop of a JPEG whose encoded bytes are in memory; lengths are in pixels.
struct Crop {
  std::shared_ptr<const std::vector<std::uint8_t>> encoded;
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  // The image is decoded at 1/factor of its size. All lengths of the crop are
  // pixels of the image at that size.
  std::uint32_t factor = 1;
};

// Reads lines "path left top width height" (the path may contain spaces) from
// `file` ("-": standard input) and loads the files, each once. Dies with a
// message when it cannot.
std::vector<Crop> LoadCrops(const std::string& file);

// Scales each crop down by 8, 4 or 2: by the largest factor that leaves it as
// large as `side`.
void Reduce(std::vector<Crop>& crops, std::uint32_t side);

enum class Output {
  kWholeImage,  // each row in its own place of a buffer
  kReusedRow,   // every row over the last one, in a misaligned buffer
};

// The floor: libjpeg-turbo decodes crops, and nothing else runs. Each thread
// has a BareJpeg of its own, whose decompressor is reused. Crops are not
// widened, so pixels near their edges may differ from a full decode's.
class BareJpeg {
 public:
  BareJpeg();
  ~BareJpeg();
  BareJpeg(const BareJpeg&) = delete;
  BareJpeg& operator=(const BareJpeg&) = delete;

  // Decodes a crop. Ends the process at an error of libjpeg: the benchmark's
  // files are sound.
  void Decode(const Crop& crop, Output output);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forebay::bench

#endif  // FOREBAY_TESTS_BENCH_BARE_JPEG_H_
