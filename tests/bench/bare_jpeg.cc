#include "tests/bench/bare_jpeg.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

// libjpeg's header needs <cstdio> before it.
#include <jpeglib.h>

namespace forebay::bench {
namespace {

[[noreturn]] void Die(const std::string& message) {
  std::cerr << "jpeg_floor: " << message << "\n";
  std::exit(1);
}

std::vector<std::uint8_t> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Die("cannot read " + path);
  return std::vector<std::uint8_t>(std::istreambuf_iterator<char>(file), {});
}

// Stores the last four words of `line`, which are numbers, and returns the path
// before them.
std::string SplitLine(const std::string& line, std::uint32_t numbers[4]) {
  std::size_t end = line.size();
  for (int i = 3; i >= 0; --i) {
    const std::size_t space = end == 0 ? end : line.rfind(' ', end - 1);
    if (space == std::string::npos || space == 0) Die("bad line: " + line);
    numbers[i] = static_cast<std::uint32_t>(
        std::strtoul(line.c_str() + space + 1, nullptr, 10));
    end = space;
  }
  return line.substr(0, end);
}

}  // namespace

std::vector<Crop> LoadCrops(const std::string& file) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file);
    if (!opened) Die("cannot read " + file);
  }
  std::istream& lines = file == "-" ? std::cin : opened;
  std::map<std::string, std::shared_ptr<const std::vector<std::uint8_t>>> files;
  std::vector<Crop> crops;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    std::uint32_t numbers[4];
    const std::string path = SplitLine(line, numbers);
    auto& encoded = files[path];
    if (encoded == nullptr) {
      encoded =
          std::make_shared<const std::vector<std::uint8_t>>(ReadFile(path));
    }
    crops.push_back(
        {encoded, numbers[0], numbers[1], numbers[2], numbers[3], 1});
  }
  if (crops.empty()) Die("no crops in " + file);
  return crops;
}

void Reduce(std::vector<Crop>& crops, std::uint32_t side) {
  for (Crop& crop : crops) {
    const std::uint32_t shorter = std::min(crop.width, crop.height);
    for (const std::uint32_t factor : {8, 4, 2}) {
      if (shorter / factor < side) continue;
      const std::uint32_t right = crop.left + crop.width + factor - 1;
      const std::uint32_t bottom = crop.top + crop.height + factor - 1;
      crop.factor = factor;
      crop.left /= factor;
      crop.top /= factor;
      crop.width = right / factor - crop.left;
      crop.height = bottom / factor - crop.top;
      break;
    }
  }
}

struct BareJpeg::State {
  static constexpr JDIMENSION kRows = 16;  // rows handed over at a time
  // Aligned rows get non-temporal stores, which are slow when reused.
  static constexpr std::size_t kMisaligned = 16;

  jpeg_decompress_struct decompressor;
  jpeg_error_mgr errors;
  std::vector<std::uint8_t> pixels;
};

BareJpeg::BareJpeg() : state_(std::make_unique<State>()) {
  state_->decompressor.err = jpeg_std_error(&state_->errors);
  jpeg_create_decompress(&state_->decompressor);
}

BareJpeg::~BareJpeg() { jpeg_destroy_decompress(&state_->decompressor); }

void BareJpeg::Decode(const Crop& crop, Output output) {
  jpeg_decompress_struct* jpeg = &state_->decompressor;
  jpeg_mem_src(jpeg, crop.encoded->data(), crop.encoded->size());
  jpeg_read_header(jpeg, TRUE);
  jpeg->out_color_space = JCS_RGB;
  jpeg->scale_denom = crop.factor;
  jpeg_start_decompress(jpeg);
  if (crop.width == 0 || crop.height == 0 || crop.width > jpeg->output_width ||
      crop.left > jpeg->output_width - crop.width ||
      crop.height > jpeg->output_height ||
      crop.top > jpeg->output_height - crop.height) {
    Die("a crop leaves its image");
  }
  JDIMENSION left = crop.left;
  JDIMENSION width = crop.width;
  if (width < jpeg->output_width) jpeg_crop_scanline(jpeg, &left, &width);
  if (crop.top > 0) jpeg_skip_scanlines(jpeg, crop.top);

  const bool whole = output == Output::kWholeImage;
  const std::size_t stride = std::size_t{3} * width;
  const std::size_t needed =
      (whole ? stride * crop.height : stride) + 64 + State::kMisaligned;
  if (state_->pixels.size() < needed) state_->pixels.resize(needed);
  auto base = reinterpret_cast<std::uintptr_t>(state_->pixels.data());
  base = (base + 63) / 64 * 64;
  if (!whole) base += State::kMisaligned;
  JSAMPROW first = reinterpret_cast<JSAMPROW>(base);
  JSAMPROW rows[State::kRows];
  for (JDIMENSION done = 0; done < crop.height;) {
    const JDIMENSION count = std::min(State::kRows, crop.height - done);
    for (JDIMENSION i = 0; i < count; ++i) {
      rows[i] = whole ? first + (done + i) * stride : first;
    }
    done += jpeg_read_scanlines(jpeg, rows, count);
  }
  jpeg_abort_decompress(jpeg);
}

}  // namespace forebay::bench
