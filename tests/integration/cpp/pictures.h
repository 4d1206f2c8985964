#ifndef FOREBAY_TESTS_INTEGRATION_CPP_PICTURES_H_
#define FOREBAY_TESTS_INTEGRATION_CPP_PICTURES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cpp_user {

inline constexpr std::uint32_t kHeight = 149;
inline constexpr std::uint32_t kWidth = 203;
inline constexpr std::uint64_t kPictureBytes = 3u * kHeight * kWidth;
inline constexpr std::uint64_t kSamples = 30;
inline constexpr std::uint64_t kPerClass = 10;

// The names of the classes, in the order of their labels.
const std::vector<std::string>& Classes();

std::uint32_t Crc32(const void* data, std::size_t bytes);

// A folder of class folders with JPEGs, all of kHeight x kWidth pixels. All
// pictures of a class differ. A test may change the folder.
class Pictures {
 public:
  Pictures();
  ~Pictures();
  Pictures(const Pictures&) = delete;
  Pictures& operator=(const Pictures&) = delete;

  const std::string& path() const { return path_; }
  // Returns the path of sample number `id`, relative to the folder:
  // "ash/311.jpg".
  static std::string FileOf(std::int64_t id);
  // Returns the CRC-32 of the RGB pixels of sample number `id`, as Pillow
  // decodes the sample.
  static std::uint32_t PixelsOf(std::int64_t id);
  // Replaces the file of sample number `id` by a text.
  void Spoil(std::int64_t id) const;

 private:
  const std::string path_;
};

}  // namespace cpp_user

#endif  // FOREBAY_TESTS_INTEGRATION_CPP_PICTURES_H_
