#include "server/dataset/array_record/codec.h"

#include <brotli/decode.h>
#include <snappy.h>
#include <zstd.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace forebay::dataset::array_record {
namespace {

using Bytes = absl::Span<const std::uint8_t>;
using Room = absl::Span<std::uint8_t>;

absl::Status Damaged(std::string_view codec) {
  return absl::DataLossError(
      absl::StrCat("is damaged: what a chunk has, packed with ",
                   std::string(codec), ", cannot be unpacked"));
}

bool UnpackBrotli(Bytes packed, Room out) {
  const std::unique_ptr<BrotliDecoderState,
                        decltype(&BrotliDecoderDestroyInstance)>
      state(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr),
            BrotliDecoderDestroyInstance);
  if (state == nullptr) return false;
  std::size_t unseen = packed.size();
  const std::uint8_t* next = packed.data();
  std::size_t room = out.size();
  std::uint8_t* to = out.data();
  const BrotliDecoderResult result = BrotliDecoderDecompressStream(
      state.get(), &unseen, &next, &room, &to, nullptr);
  return result == BROTLI_DECODER_RESULT_SUCCESS && unseen == 0 && room == 0;
}

bool UnpackSnappy(Bytes packed, Room out) {
  const auto* const bytes = reinterpret_cast<const char*>(packed.data());
  std::size_t length = 0;
  return snappy::GetUncompressedLength(bytes, packed.size(), &length) &&
         length == out.size() &&
         snappy::RawUncompress(bytes, packed.size(),
                               reinterpret_cast<char*>(out.data()));
}

bool UnpackZstd(Bytes packed, Room out) {
  const std::size_t length =
      ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  return ZSTD_isError(length) == 0 && length == out.size();
}

}  // namespace

absl::StatusOr<Codec> CodecOf(std::uint8_t byte) {
  switch (const auto codec = static_cast<Codec>(byte)) {
    case Codec::kNone:
    case Codec::kBrotli:
    case Codec::kSnappy:
    case Codec::kZstd:
      return codec;
  }
  return absl::UnimplementedError(
      absl::StrCat("a chunk is packed by a method that is not known, number ",
                   static_cast<unsigned>(byte)));
}

absl::Status Decompress(Codec codec, Bytes packed, Room out) {
  // The libraries take no null pointer.
  std::uint8_t nowhere = 0;
  if (out.empty()) out = {&nowhere, 0};
  if (packed.empty()) packed = {&nowhere, 0};
  if (codec == Codec::kBrotli)
    return UnpackBrotli(packed, out) ? absl::OkStatus() : Damaged("brotli");
  if (codec == Codec::kSnappy)
    return UnpackSnappy(packed, out) ? absl::OkStatus() : Damaged("snappy");
  return UnpackZstd(packed, out) ? absl::OkStatus() : Damaged("zstd");
}

}  // namespace forebay::dataset::array_record
