#include "server/pipeline/decode/jpeg_markers.h"

#include <cstring>

namespace forebay::pipeline::decode {
namespace {

constexpr int kFirstRestart = 0xd0;
constexpr int kLastRestart = 0xd7;

}  // namespace

bool IsRestart(int marker) {
  return marker >= kFirstRestart && marker <= kLastRestart;
}

int MarkerAfter(const std::uint8_t* data, std::size_t size) {
  const std::uint8_t* const end = data + size;
  while (end - data >= 2) {
    data = static_cast<const std::uint8_t*>(
        std::memchr(data, 0xff, static_cast<std::size_t>(end - data - 1)));
    if (data == nullptr) return 0;
    // A marker may begin with several bytes 0xff. If a 0 follows 0xff, the 0xff
    // is data (ITU-T T.81, B.1.1.2 and B.1.1.5).
    ++data;
    if (*data != 0 && *data != 0xff && !IsRestart(*data)) return *data;
  }
  return 0;
}

}  // namespace forebay::pipeline::decode
