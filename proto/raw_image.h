#ifndef FOREBAY_PROTO_RAW_IMAGE_H_
#define FOREBAY_PROTO_RAW_IMAGE_H_

// A raw image is a header, followed by the pixels: 8-bit and interleaved, row
// by row from the top, without padding between rows or at the end. Numbers are
// little-endian, and the image may be at any alignment. Decoded images are
// cached in this form. Images in a client's memory are sent to the daemon in
// this form.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace forebay::proto {

// The bytes 8f 52 41 57 ("\x8fRAW"). No image format and no text begins with
// these bytes: 8f cannot begin a UTF-8 character.
inline constexpr std::uint32_t kRawImageMagic = 0x5741528f;

struct RawImageHeader {
  std::uint32_t magic;
  std::uint32_t width;     // pixels; not 0
  std::uint32_t height;    // pixels; not 0
  std::uint32_t channels;  // 1 for gray; 3 for red, green, blue
};

static_assert(std::is_trivially_copyable_v<RawImageHeader>);
static_assert(std::is_standard_layout_v<RawImageHeader>);
static_assert(sizeof(RawImageHeader) == 16);
static_assert(offsetof(RawImageHeader, magic) == 0);
static_assert(offsetof(RawImageHeader, width) == 4);
static_assert(offsetof(RawImageHeader, height) == 8);
static_assert(offsetof(RawImageHeader, channels) == 12);

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_RAW_IMAGE_H_
