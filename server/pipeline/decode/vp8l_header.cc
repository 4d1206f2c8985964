// Reads the header of a VP8L stream (RFC 9649, section 3) to find how many sets
// of Huffman codes ("prefix code groups") the image has. Subresolution images
// may come before the image's own codes. Some of these images belong to
// transforms. Another is the entropy image, whose pixels say which group each
// block of the image uses. All subresolution images must be decoded to reach
// the end of the header.

#include "server/pipeline/decode/vp8l_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace forebay::pipeline::decode {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// The most bits that an index into the color cache may have (RFC 9649, "Color
// Cache Coding").
constexpr std::uint32_t kMostCacheBits = 11;
// Symbols of the prefix codes (RFC 9649, "Image Data"): literals, and prefixes
// of lengths and of distances.
constexpr std::size_t kLiterals = 256;
constexpr std::size_t kLengths = 24;
constexpr std::size_t kDistances = 40;
constexpr int kMostCodeBits = 15;

// Reads bits, the lowest bit of each byte first. Behind the end, all bits are
// 0.
class BitReader {
 public:
  explicit BitReader(Bytes bytes) : bytes_(bytes) {}

  std::uint32_t Read(int count) {
    std::uint32_t bits = 0;
    for (int i = 0; i < count; ++i) bits |= ReadBit() << i;
    return bits;
  }
  std::uint32_t ReadBit() {
    const std::uint64_t byte = at_ / 8;
    if (byte >= bytes_.size()) {
      ended_ = true;
      return 0;
    }
    return bytes_[byte] >> (at_++ % 8) & 1U;
  }
  // Whether bits behind the end were read.
  bool ended() const { return ended_; }

 private:
  const Bytes bytes_;
  std::uint64_t at_ = 0;
  bool ended_ = false;
};

// A canonical Huffman code.
class Code {
 public:
  // Makes the code. `bits` has the code length of each symbol in bits, or 0 for
  // an unused symbol. Returns false if no complete code has these lengths.
  bool Make(const std::vector<std::uint8_t>& bits) {
    counts_.fill(0);
    symbols_.clear();
    for (const std::uint8_t length : bits) ++counts_[length];
    counts_[0] = 0;
    for (std::uint8_t length = 1; length <= kMostCodeBits; ++length) {
      if (counts_[length] == 0) continue;
      for (std::size_t symbol = 0; symbol < bits.size(); ++symbol) {
        if (bits[symbol] == length)
          symbols_.push_back(static_cast<std::uint16_t>(symbol));
      }
    }
    if (symbols_.size() <= 1) return symbols_.size() == 1;
    std::int64_t left = 1;
    for (int length = 1; length <= kMostCodeBits; ++length)
      left = left * 2 - counts_[length];
    return left == 0;
  }

  std::uint32_t Read(BitReader& bits) const {
    if (symbols_.size() == 1) return symbols_.front();
    std::uint32_t code = 0, first = 0, index = 0;
    for (int length = 1; length <= kMostCodeBits; ++length) {
      code = code << 1 | bits.ReadBit();
      const std::uint32_t count = counts_[length];
      if (code - first < count) return symbols_[index + code - first];
      index += count;
      first = (first + count) << 1;
    }
    // Never reached: the code is complete.
    return symbols_.front();
  }

 private:
  // Number of symbols with each number of bits.
  std::array<std::uint32_t, kMostCodeBits + 1> counts_{};
  // Symbols in the order of their codes.
  std::vector<std::uint16_t> symbols_;
};

// Reads a "simple code length code" of RFC 9649, of one or two symbols.
bool ReadSimpleCode(BitReader& bits, std::vector<std::uint8_t>& lengths) {
  const bool has_two = bits.Read(1) != 0;
  const std::uint32_t first = bits.Read(bits.Read(1) != 0 ? 8 : 1);
  lengths[first] = 1;
  if (has_two) lengths[bits.Read(8)] = 1;
  return true;
}

// Reads a "normal code length code" of RFC 9649: the code length of each
// symbol. The lengths themselves are coded by another prefix code.
bool ReadCodeLengths(BitReader& bits, std::vector<std::uint8_t>& lengths) {
  constexpr std::uint8_t kOrder[] = {17, 18, 0, 1,  2,  3,  4,  5,  16, 6,
                                     7,  8,  9, 10, 11, 12, 13, 14, 15};
  std::vector<std::uint8_t> meta(std::size(kOrder));
  const std::uint32_t count = bits.Read(4) + 4;
  if (count > std::size(kOrder)) return false;
  for (std::uint32_t i = 0; i < count; ++i)
    meta[kOrder[i]] = static_cast<std::uint8_t>(bits.Read(3));
  Code code;
  if (!code.Make(meta)) return false;
  std::uint64_t left = lengths.size();
  if (bits.Read(1) != 0) {
    const int width = 2 + 2 * static_cast<int>(bits.Read(3));
    left = 2 + bits.Read(width);
    if (left > lengths.size()) return false;
  }
  std::uint8_t before = 8;
  for (std::size_t symbol = 0; symbol < lengths.size() && left > 0; --left) {
    const std::uint32_t read = code.Read(bits);
    if (bits.ended()) return false;
    if (read < 16) {
      lengths[symbol++] = static_cast<std::uint8_t>(read);
      if (read != 0) before = static_cast<std::uint8_t>(read);
      continue;
    }
    const std::size_t repeats = read == 16   ? 3 + bits.Read(2)
                                : read == 17 ? 3 + bits.Read(3)
                                             : 11 + bits.Read(7);
    if (repeats > lengths.size() - symbol) return false;
    std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(symbol), repeats,
                read == 16 ? before : std::uint8_t{0});
    symbol += repeats;
  }
  return true;
}

// Reads a prefix code of `symbols` symbols.
bool ReadCode(BitReader& bits, std::size_t symbols, Code& code) {
  std::vector<std::uint8_t> lengths(std::max(symbols, kLiterals));
  const bool is_simple = bits.Read(1) != 0;
  const bool is_right = is_simple ? ReadSimpleCode(bits, lengths) : [&] {
    lengths.resize(symbols);
    return ReadCodeLengths(bits, lengths);
  }();
  if (!is_right || bits.ended()) return false;
  if (lengths.size() > symbols &&
      std::any_of(lengths.begin() + static_cast<std::ptrdiff_t>(symbols),
                  lengths.end(), [](std::uint8_t n) { return n != 0; })) {
    return false;
  }
  lengths.resize(symbols);
  return code.Make(lengths);
}

// Returns the length or distance that a prefix symbol and its extra bits stand
// for (RFC 9649, "LZ77 Backward Reference").
std::uint32_t ReadCopied(BitReader& bits, std::uint32_t symbol) {
  if (symbol < 4) return symbol + 1;
  const int extra = static_cast<int>((symbol - 2) >> 1);
  return ((2 + (symbol & 1U)) << extra) + bits.Read(extra) + 1;
}

// Returns how many pixels back a copy begins, in an image that is `width`
// pixels wide. The first 120 codes stand for near pixels (RFC 9649, "LZ77
// Backward Reference").
std::uint32_t DistanceOf(std::uint32_t code, std::uint32_t width) {
  // Each entry is (8 - x) | y << 4, for the pixel x to the left and y rows up.
  constexpr std::uint8_t kNear[] = {
      0x18, 0x07, 0x17, 0x19, 0x28, 0x06, 0x27, 0x29, 0x16, 0x1a, 0x26, 0x2a,
      0x38, 0x05, 0x37, 0x39, 0x15, 0x1b, 0x36, 0x3a, 0x25, 0x2b, 0x48, 0x04,
      0x47, 0x49, 0x14, 0x1c, 0x35, 0x3b, 0x46, 0x4a, 0x24, 0x2c, 0x58, 0x45,
      0x4b, 0x34, 0x3c, 0x03, 0x57, 0x59, 0x13, 0x1d, 0x56, 0x5a, 0x23, 0x2d,
      0x44, 0x4c, 0x55, 0x5b, 0x33, 0x3d, 0x68, 0x02, 0x67, 0x69, 0x12, 0x1e,
      0x66, 0x6a, 0x22, 0x2e, 0x54, 0x5c, 0x43, 0x4d, 0x65, 0x6b, 0x32, 0x3e,
      0x78, 0x01, 0x77, 0x79, 0x53, 0x5d, 0x11, 0x1f, 0x64, 0x6c, 0x42, 0x4e,
      0x76, 0x7a, 0x21, 0x2f, 0x75, 0x7b, 0x31, 0x3f, 0x63, 0x6d, 0x52, 0x5e,
      0x00, 0x74, 0x7c, 0x41, 0x4f, 0x10, 0x20, 0x62, 0x6e, 0x30, 0x73, 0x7d,
      0x51, 0x5f, 0x40, 0x72, 0x7e, 0x61, 0x6f, 0x50, 0x71, 0x7f, 0x60, 0x70};
  if (code > std::size(kNear))
    return code - static_cast<std::uint32_t>(std::size(kNear));
  const std::int64_t near = kNear[code - 1];
  const std::int64_t distance = (near >> 4) * width + 8 - (near & 0xf);
  return static_cast<std::uint32_t>(std::max<std::int64_t>(distance, 1));
}

// Reads the header of one stream. Not thread-safe.
class HeaderReader {
 public:
  HeaderReader(Bytes stream, std::uint64_t most_pixels)
      : bits_(stream), most_pixels_(most_pixels) {}

  std::optional<Vp8lTables> Read();

 private:
  // The five prefix codes of a group.
  struct Codes {
    Code literal, red, blue, alpha, distance;
  };

  // Reads all transforms. Updates `width`, since color indexing makes the image
  // narrower.
  bool ReadTransforms(std::uint32_t& width, std::uint32_t height);
  bool ReadCacheBits(std::uint32_t& cache_bits);
  bool ReadCodes(std::uint32_t cache_bits, Codes& codes);
  // Reads a subresolution image to pixels_.
  bool ReadImage(std::uint32_t width, std::uint32_t height);
  // Copies earlier pixels of pixels_. `symbol` is the length symbol.
  bool Copy(const Codes& codes, std::uint32_t symbol, std::uint32_t width,
            std::size_t pixels);

  BitReader bits_;
  const std::uint64_t most_pixels_;
  // ARGB pixels of the last subresolution image.
  std::vector<std::uint32_t> pixels_;
};

// Returns how many blocks of 2^bits pixels cover `length` pixels.
std::uint32_t Sampled(std::uint32_t length, std::uint32_t bits) {
  return (length + (1U << bits) - 1) >> bits;
}

bool HeaderReader::ReadTransforms(std::uint32_t& width, std::uint32_t height) {
  constexpr std::uint32_t kColorsByIndex = 3;
  constexpr std::uint32_t kSubtractGreen = 2;
  unsigned seen = 0;
  while (bits_.Read(1) != 0) {
    const std::uint32_t type = bits_.Read(2);
    if ((seen >> type & 1U) != 0 || bits_.ended()) return false;
    seen |= 1U << type;
    if (type == kSubtractGreen) continue;
    if (type == kColorsByIndex) {
      const std::uint32_t colors = bits_.Read(8) + 1;
      if (!ReadImage(colors, 1)) return false;
      width = Sampled(width, colors > 16  ? 0
                             : colors > 4 ? 1
                             : colors > 2 ? 2
                                          : 3);
      continue;
    }
    const std::uint32_t bits = bits_.Read(3) + 2;
    if (!ReadImage(Sampled(width, bits), Sampled(height, bits))) return false;
  }
  return !bits_.ended();
}

bool HeaderReader::ReadCacheBits(std::uint32_t& cache_bits) {
  cache_bits = 0;
  if (bits_.Read(1) == 0) return true;
  cache_bits = bits_.Read(4);
  return cache_bits >= 1 && cache_bits <= kMostCacheBits;
}

bool HeaderReader::ReadCodes(std::uint32_t cache_bits, Codes& codes) {
  const std::size_t cached = cache_bits == 0 ? 0 : std::size_t{1} << cache_bits;
  return ReadCode(bits_, kLiterals + kLengths + cached, codes.literal) &&
         ReadCode(bits_, kLiterals, codes.red) &&
         ReadCode(bits_, kLiterals, codes.blue) &&
         ReadCode(bits_, kLiterals, codes.alpha) &&
         ReadCode(bits_, kDistances, codes.distance);
}

bool HeaderReader::Copy(const Codes& codes, std::uint32_t symbol,
                        std::uint32_t width, std::size_t pixels) {
  const std::uint32_t length =
      ReadCopied(bits_, symbol - static_cast<std::uint32_t>(kLiterals));
  const std::uint32_t distance =
      DistanceOf(ReadCopied(bits_, codes.distance.Read(bits_)), width);
  if (distance > pixels_.size() || length > pixels - pixels_.size())
    return false;
  for (std::uint32_t i = 0; i < length; ++i)
    pixels_.push_back(pixels_[pixels_.size() - distance]);
  return true;
}

bool HeaderReader::ReadImage(std::uint32_t width, std::uint32_t height) {
  constexpr std::uint32_t kHash = 0x1e35a7bd;
  std::uint32_t cache_bits = 0;
  Codes codes;
  const std::uint64_t pixels = std::uint64_t{width} * height;
  if (pixels > most_pixels_ || !ReadCacheBits(cache_bits) ||
      !ReadCodes(cache_bits, codes)) {
    return false;
  }
  std::vector<std::uint32_t> cache(cache_bits == 0 ? 0 : 1U << cache_bits);
  // Number of pixels that were added to the cache already. Later pixels are
  // added when the cache is used.
  std::size_t cached = 0;
  const auto remember = [&] {
    if (cache.empty()) return;
    for (; cached < pixels_.size(); ++cached)
      cache[kHash * pixels_[cached] >> (32 - cache_bits)] = pixels_[cached];
  };
  pixels_.clear();
  pixels_.reserve(pixels);
  while (pixels_.size() < pixels) {
    const std::uint32_t symbol = codes.literal.Read(bits_);
    if (symbol < kLiterals) {
      const std::uint32_t red = codes.red.Read(bits_);
      const std::uint32_t blue = codes.blue.Read(bits_);
      const std::uint32_t alpha = codes.alpha.Read(bits_);
      pixels_.push_back(alpha << 24 | red << 16 | symbol << 8 | blue);
    } else if (symbol < kLiterals + kLengths) {
      if (!Copy(codes, symbol, width, pixels)) return false;
    } else {
      remember();
      pixels_.push_back(cache[symbol - kLiterals - kLengths]);
    }
    if (bits_.ended()) return false;
  }
  return true;
}

std::optional<Vp8lTables> HeaderReader::Read() {
  constexpr std::uint32_t kSignature = 0x2f;
  if (bits_.Read(8) != kSignature) return std::nullopt;
  std::uint32_t width = bits_.Read(14) + 1;
  const std::uint32_t height = bits_.Read(14) + 1;
  // Skips the alpha flag and the version.
  bits_.Read(4);
  Vp8lTables tables;
  if (!ReadTransforms(width, height) || !ReadCacheBits(tables.cache_bits))
    return std::nullopt;
  if (bits_.Read(1) == 0) return tables;
  const std::uint32_t bits = bits_.Read(3) + 2;
  if (!ReadImage(Sampled(width, bits), Sampled(height, bits)))
    return std::nullopt;
  std::vector<std::uint32_t>& sets = pixels_;
  std::uint32_t most = 0;
  for (std::uint32_t& set : sets) {
    // The red and green bytes of a pixel are the number of its group.
    set = set >> 8 & 0xffffU;
    most = std::max(most, set);
  }
  tables.sets = most + 1;
  // If there are more sets than this, libwebp makes only the sets that are
  // used.
  constexpr std::uint32_t kMostUnused = 1000;
  if (tables.sets > kMostUnused ||
      tables.sets > std::uint64_t{width} * height) {
    std::sort(sets.begin(), sets.end());
    tables.sets = static_cast<std::uint32_t>(
        std::unique(sets.begin(), sets.end()) - sets.begin());
  }
  return tables;
}

}  // namespace

std::optional<Vp8lTables> ReadVp8lTables(Bytes stream,
                                         std::uint64_t most_pixels) {
  return HeaderReader(stream, most_pixels).Read();
}

}  // namespace forebay::pipeline::decode
