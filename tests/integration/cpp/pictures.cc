#include "tests/integration/cpp/pictures.h"

#include <filesystem>
#include <fstream>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/daemon.h"

namespace cpp_user {
namespace {

constexpr char kGolden[] = "tests/golden/decode/";
// The names are sorted, as the samples of a class are.
constexpr const char* kNames[kPerClass] = {
    "311.jpg", "410.jpg", "411.jpg",  "420.jpg",   "422.jpg",
    "440.jpg", "444.jpg", "gray.jpg", "mixed.jpg", "rgb.jpg"};

}  // namespace

const std::vector<std::string>& Classes() {
  static const auto* const classes =
      new std::vector<std::string>{"ash", "birch", "cedar"};
  return *classes;
}

std::uint32_t Crc32(const void* data, std::size_t bytes) {
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < bytes; ++i) {
    crc ^= static_cast<const std::uint8_t*>(data)[i];
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

Pictures::Pictures() : path_(NewFolder("pictures")) {
  for (const std::string& name : Classes()) {
    std::filesystem::create_directory(path_ + "/" + name);
    for (const char* const file : kNames)
      std::filesystem::copy_file(kGolden + std::string(file),
                                 path_ + "/" + name + "/" + file);
  }
}

Pictures::~Pictures() { std::filesystem::remove_all(path_); }

std::string Pictures::FileOf(std::int64_t id) {
  const auto number = static_cast<std::uint64_t>(id);
  return Classes().at(number / kPerClass) + "/" + kNames[number % kPerClass];
}

std::uint32_t Pictures::PixelsOf(std::int64_t id) {
  const std::string wanted = kNames[static_cast<std::uint64_t>(id) % kPerClass];
  std::ifstream golden(kGolden + std::string("golden.txt"));
  std::string name, width, height, crc, rest;
  while (golden >> name >> width >> height >> crc && getline(golden, rest)) {
    if (name == wanted)
      return static_cast<std::uint32_t>(std::stoul(crc, nullptr, 16));
  }
  FAIL("golden.txt lacks " << wanted);
  return 0;
}

void Pictures::Spoil(std::int64_t id) const {
  std::ofstream(path_ + "/" + FileOf(id), std::ios::trunc)
      << "This is not a picture.\n";
}

}  // namespace cpp_user
