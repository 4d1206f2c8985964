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

// Returns the error of a compressed part that `codec` cannot decompress.
absl::Status Damaged(std::string_view codec) {
  return absl::DataLossError(
      absl::StrCat("is damaged: what a chunk has, compressed with ",
                   std::string(codec), ", cannot be decompressed"));
}

// Decompresses one stream. A Brotli stream marks its end, but does not state
// its length.
bool DecompressBrotli(Bytes compressed, Room out) {
  const std::unique_ptr<BrotliDecoderState,
                        decltype(&BrotliDecoderDestroyInstance)>
      state(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr),
            BrotliDecoderDestroyInstance);
  if (state == nullptr) return false;
  std::size_t unseen = compressed.size();
  const std::uint8_t* next = compressed.data();
  std::size_t room = out.size();
  std::uint8_t* to = out.data();
  const BrotliDecoderResult result = BrotliDecoderDecompressStream(
      state.get(), &unseen, &next, &room, &to, nullptr);
  // The stream must end at the end of `compressed`, and fill all of `out`.
  return result == BROTLI_DECODER_RESULT_SUCCESS && unseen == 0 && room == 0;
}

// Decompresses the stream, if the length that it states is the size of `out`.
bool DecompressSnappy(Bytes compressed, Room out) {
  const auto* const bytes = reinterpret_cast<const char*>(compressed.data());
  std::size_t length = 0;
  return snappy::GetUncompressedLength(bytes, compressed.size(), &length) &&
         length == out.size() &&
         snappy::RawUncompress(bytes, compressed.size(),
                               reinterpret_cast<char*>(out.data()));
}

// Decompresses all frames of the stream. Together they must fill `out`.
bool DecompressZstd(Bytes compressed, Room out) {
  const std::size_t length = ZSTD_decompress(
      out.data(), out.size(), compressed.data(), compressed.size());
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
  return absl::UnimplementedError(absl::StrCat(
      "a chunk is compressed by a method that is not known, number ",
      static_cast<unsigned>(byte)));
}

absl::Status Decompress(Codec codec, Bytes compressed, Room out) {
  // The libraries do not accept null pointers, which empty spans may have.
  std::uint8_t nowhere = 0;
  if (out.empty()) out = {&nowhere, 0};
  if (compressed.empty()) compressed = {&nowhere, 0};
  if (codec == Codec::kBrotli)
    return DecompressBrotli(compressed, out) ? absl::OkStatus()
                                             : Damaged("brotli");
  if (codec == Codec::kSnappy)
    return DecompressSnappy(compressed, out) ? absl::OkStatus()
                                             : Damaged("snappy");
  return DecompressZstd(compressed, out) ? absl::OkStatus() : Damaged("zstd");
}

}  // namespace forebay::dataset::array_record
