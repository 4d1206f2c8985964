// Prints the crop that RandomResizedCrop(size), as a pipeline's first op, takes
// of every image below a folder. Other programs can then decode the same
// regions. A line is "path left top width height", in pixels. The order is that
// of the sample ids: class folders sorted by name, then their files' paths.

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "server/pipeline/decode/any_image_decoder.h"
#include "server/pipeline/transform/draws.h"
#include "tests/unit/server/pipeline/image/recording_target.h"

namespace forebay::pipeline {
namespace {

namespace fs = std::filesystem;

bool IsImage(const fs::path& path) {
  static constexpr std::array<std::string_view, 9> kExtensions = {
      ".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
      ".pgm", ".tif",  ".tiff", ".webp"};
  std::string extension = path.extension().string();
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return !extension.empty() && std::find(kExtensions.begin(), kExtensions.end(),
                                         extension) != kExtensions.end();
}

// Returns the images of `root`: class by class if `root` has class folders, and
// the images directly in `root` if it has none.
std::vector<fs::path> Images(const fs::path& root) {
  std::vector<fs::path> classes;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory()) classes.push_back(entry.path());
  std::sort(classes.begin(), classes.end());
  if (classes.empty()) classes.push_back(root);
  std::vector<fs::path> images;
  for (const fs::path& folder : classes) {
    const auto first = static_cast<std::ptrdiff_t>(images.size());
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && IsImage(entry.path()))
        images.push_back(entry.path());
    std::sort(images.begin() + first, images.end(),
              [](const fs::path& a, const fs::path& b) {
                return a.native() < b.native();
              });
  }
  return images;
}

int Print(const std::string& folder, std::uint64_t seed, std::uint64_t epoch,
          std::int64_t size) {
  proto::RandomResizedCrop message;
  message.set_height(static_cast<std::uint32_t>(size));
  message.set_width(static_cast<std::uint32_t>(size));
  message.set_scale_min(0.08);
  message.set_scale_max(1);
  message.set_ratio_min(3.0 / 4);
  message.set_ratio_max(4.0 / 3);
  const auto op = image::OpOf(message);
  decode::AnyImageDecoder decoder{decode::DecodeLimits()};
  std::uint64_t sample = 0;
  for (const fs::path& path : Images(folder)) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file),
                                          std::istreambuf_iterator<char>()};
    const auto info = decoder.Open(bytes);
    if (!info.ok()) {
      std::cerr << path.string() << ": " << info.status().message() << "\n";
      return 1;
    }
    transform::PhiloxDraws draws({seed, epoch, sample++}, 0);
    const auto changes =
        image::ChangesBy(*op, {info->width, info->height}, draws);
    if (!changes.ok()) {
      std::cerr << path.string() << ": " << changes.status().message() << "\n";
      return 1;
    }
    const transform::CropWindow window = changes->windows.front();
    std::cout << path.string() << ' ' << window.left << ' ' << window.top << ' '
              << window.width << ' ' << window.height << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace forebay::pipeline

int main(int argc, char** argv) {
  CLI::App app{"Prints the crop that each image of a folder gets."};
  std::string folder;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::int64_t size = 224;
  app.add_option("folder", folder, "class folders of images")->required();
  app.add_option("seed", seed, "the loader's seed");
  app.add_option("epoch", epoch, "counts from 0");
  app.add_option("--size", size, "pixels, both sides")
      ->check(CLI::Range(1, 65535));
  CLI11_PARSE(app, argc, argv);
  return forebay::pipeline::Print(folder, seed, epoch, size);
}
