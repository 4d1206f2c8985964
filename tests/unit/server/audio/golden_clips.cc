#include "tests/unit/server/audio/golden_clips.h"

#include <bit>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/catch/catch.h"

namespace forebay::audio {
namespace {

constexpr char kFolder[] = "tests/golden/audio/";

std::uint32_t FromHex(const std::string& word) {
  return static_cast<std::uint32_t>(std::stoul(word, nullptr, 16));
}

}  // namespace

std::vector<GoldenClip> GoldenClips() {
  std::ifstream file(std::string(kFolder) + "golden.txt");
  std::vector<GoldenClip> clips;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    GoldenClip& clip = clips.emplace_back();
    std::string crc;
    words >> clip.name >> clip.frames >> clip.channels >> clip.sample_rate >>
        crc;
    if (crc != "-") clip.crc = FromHex(crc);
    for (std::string value; words >> value;)
      clip.values.push_back(std::bit_cast<float>(FromHex(value)));
  }
  CHECK(clips.size() > 40u);
  return clips;
}

std::string ClipFile(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  CAPTURE(name);
  CHECK(file);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace forebay::audio
