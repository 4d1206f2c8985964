#include "server/dataset/hdf5/filters.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/hdf5/checksum.h"

namespace forebay::dataset::hdf5 {
namespace {

constexpr std::uint64_t kMostFilters = 32;  // bits of a mask
constexpr std::size_t kChecksum = 4;

struct FilterName {
  std::uint64_t number;
  std::string_view name;
};
// Registered filters that users are likely to have, but that cannot be undone.
// Errors give the names of these filters.
constexpr FilterName kOthers[] = {
    {4, "szip"},      {5, "nbit"},       {6, "scaleoffset"},    {307, "bzip2"},
    {32001, "blosc"}, {32004, "lz4"},    {32008, "bitshuffle"}, {32013, "zfp"},
    {32015, "zstd"},  {32026, "blosc2"},
};

absl::Status Damaged() {
  return absl::DataLossError("is damaged: its filters contradict themselves");
}

// Makes the UNIMPLEMENTED error of a filter. The error has the filter's name
// from kOthers or, if kOthers lacks it, the name that the writer gave.
absl::Status NotRead(std::uint64_t number, Bytes written_name) {
  std::string name(written_name.begin(), written_name.end());
  name.resize(std::min(name.find('\0'), name.size()));
  for (const FilterName& known : kOthers) {
    if (known.number == number) name = std::string(known.name);
  }
  return absl::UnimplementedError(
      absl::StrCat("is written with the filter ", number,
                   name.empty() ? "" : absl::StrCat(" (", name, ")"),
                   "; gzip, lzf, shuffle and fletcher32 can be read"));
}

// Inflate, DecompressLzf and Unshuffle each fill the front of an output buffer
// (`room`), and return that part of it.

// Decompresses a zlib stream (RFC 1950). A stream that is longer than `room` is
// damaged, because `room` has the size that the chunk should have.
absl::StatusOr<Bytes> Inflate(Bytes compressed, absl::Span<std::uint8_t> room) {
  if (compressed.size() > std::numeric_limits<uInt>::max() ||
      room.size() > std::numeric_limits<uInt>::max())
    return absl::DataLossError("is too long for zlib");
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK)
    return absl::ResourceExhaustedError(
        "there is no memory to decompress with");
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };
  // The cast is safe: zlib only reads through `next_in`, although the type of
  // `next_in` is not const.
  stream.next_in = const_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = room.data();
  stream.avail_out = static_cast<uInt>(room.size());
  if (compressed.empty() || inflate(&stream, Z_FINISH) != Z_STREAM_END) {
    return absl::DataLossError(absl::StrCat(
        "its deflated data is damaged",
        stream.msg == nullptr ? "" : absl::StrCat(" (", stream.msg, ")")));
  }
  return room.first(room.size() - stream.avail_out);
}

absl::Status LzfDamaged() {
  return absl::DataLossError("its LZF data is damaged");
}

// Decompresses LZF data. A control byte below 32 is followed by that many
// literal bytes and one more. Any other control byte begins a reference. Its
// upper three bits are the length less 2, where 7 means that another byte is
// added. Its lower five bits and the next byte are the distance, less 1, back
// into the output.
absl::StatusOr<Bytes> DecompressLzf(Bytes compressed,
                                    absl::Span<std::uint8_t> room) {
  constexpr std::uint64_t kLiterals = 32;
  std::size_t output_bytes = 0;
  ByteCursor cursor(compressed);
  while (!cursor.rest().empty()) {
    const std::uint64_t control = cursor.Take(1);
    if (control < kLiterals) {
      const Bytes bytes = cursor.TakeBytes(control + 1);
      if (!cursor.ok() || bytes.size() > room.size() - output_bytes)
        return LzfDamaged();
      std::copy(bytes.begin(), bytes.end(), room.data() + output_bytes);
      output_bytes += bytes.size();
      continue;
    }
    std::uint64_t length = control >> 5;
    if (length == 7) length += cursor.Take(1);
    length += 2;
    const std::uint64_t distance = (control & 31) * 256 + cursor.Take(1) + 1;
    if (!cursor.ok() || distance > output_bytes ||
        length > room.size() - output_bytes)
      return LzfDamaged();
    // Source and target may overlap: the copy then repeats bytes that it has
    // written.
    for (std::uint64_t i = 0; i < length; ++i, ++output_bytes)
      room[output_bytes] = room[output_bytes - distance];
  }
  return room.first(output_bytes);
}

// Undoes the shuffle filter, which stores the first bytes of all elements, then
// the second bytes, and so on. Bytes after the last whole element are
// unchanged.
absl::StatusOr<Bytes> Unshuffle(Bytes shuffled, std::size_t element,
                                absl::Span<std::uint8_t> room) {
  if (element == 0 || shuffled.size() > room.size()) return Damaged();
  const std::size_t count = shuffled.size() / element;
  std::uint8_t* const to = room.data();
  // Without a whole element, there is nothing to undo. The file may say that an
  // element has up to 2^32 - 1 bytes, so the loop must not run over those.
  const std::size_t bytes = count > 0 ? element : 0;
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    const std::uint8_t* const from = shuffled.data() + byte * count;
    for (std::size_t i = 0; i < count; ++i) to[i * element + byte] = from[i];
  }
  const Bytes rest = shuffled.subspan(count * element);
  std::copy(rest.begin(), rest.end(), to + count * element);
  return room.first(shuffled.size());
}

// Compares the checksum at the end of a chunk with its data. On some hosts, old
// versions of libhdf5 swapped the bytes of each half of the checksum. Both
// forms are accepted.
absl::Status CheckFletcher32(Bytes data, Bytes checksum) {
  const auto expected =
      static_cast<std::uint32_t>(ByteCursor(checksum).Take(4));
  const std::uint32_t computed = Fletcher32(data);
  const std::uint32_t swapped =
      (computed & 0xff00ff00) >> 8 | (computed & 0x00ff00ff) << 8;
  if (expected == computed || expected == swapped) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "is damaged: its checksum is ", absl::Hex(computed, absl::kZeroPad8),
      " instead of ", absl::Hex(expected, absl::kZeroPad8)));
}

// Whether the mask of a chunk says that a filter was left out.
bool IsLeftOut(std::uint32_t mask, std::size_t filter) {
  return (mask >> filter & 1) != 0;
}

// Returns the most bytes that a chunk may have between two filters. An earlier
// filter may have added a checksum, or a few bytes to data that does not
// compress.
std::uint64_t MostBetween(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 64;
  return (bytes + bytes / 64 + 1024) / kAlignment * kAlignment;
}

}  // namespace

bool IsFilterKind(std::uint64_t number) {
  for (const FilterKind kind : {FilterKind::kDeflate, FilterKind::kShuffle,
                                FilterKind::kFletcher32, FilterKind::kLzf}) {
    if (number == static_cast<std::uint64_t>(kind)) return true;
  }
  return false;
}

absl::StatusOr<std::vector<ChunkFilter>> ParseFilters(Bytes message) {
  // Since version 2 of the message, only filters from this number on have a
  // name.
  constexpr std::uint64_t kFirstRegistered = 256;
  ByteCursor cursor(message);
  const std::uint64_t version = cursor.Take(1);
  const std::uint64_t count = cursor.Take(1);
  if (version < 1 || version > 2 || count > kMostFilters) return Damaged();
  if (version == 1) cursor.Skip(6);
  std::vector<ChunkFilter> filters;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = cursor.Take(2);
    const bool has_name = version == 1 || number >= kFirstRegistered;
    const std::uint64_t name_bytes = has_name ? cursor.Take(2) : 0;
    cursor.Skip(2);
    const std::uint64_t values = cursor.Take(2);
    const Bytes name = cursor.TakeBytes(name_bytes);
    ByteCursor parameters(cursor.TakeBytes(4 * values));
    if (version == 1 && values % 2 == 1) cursor.Skip(4);
    if (!cursor.ok()) return Damaged();
    if (!IsFilterKind(number)) return NotRead(number, name);
    ChunkFilter filter{.kind = static_cast<FilterKind>(number)};
    // If elements are references to values of variable length, the shuffle
    // filter has no parameters, and Take returns 0.
    if (filter.kind == FilterKind::kShuffle)
      filter.element_bytes = static_cast<std::uint32_t>(parameters.Take(4));
    filters.push_back(filter);
  }
  return filters;
}

std::uint64_t RoomToUnfilter(const std::vector<ChunkFilter>& filters,
                             std::uint32_t mask, std::uint64_t bytes) {
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    if (!IsLeftOut(mask, i) && filters[i].kind != FilterKind::kFletcher32)
      ++steps;
  }
  // Data goes back and forth between the two halves of the buffer. A single
  // filter needs only one half. The filter fletcher32 needs none: it shortens
  // its input in place.
  return std::min<std::uint64_t>(steps, 2) * MostBetween(bytes);
}

absl::StatusOr<Bytes> Unfilter(const std::vector<ChunkFilter>& filters,
                               std::uint32_t mask, Bytes chunk,
                               std::uint64_t bytes,
                               absl::Span<std::uint8_t> room) {
  FOREBAY_CHECK(room.size() == RoomToUnfilter(filters, mask, bytes));
  const std::uint64_t most = MostBetween(bytes);
  absl::Span<std::uint8_t> next = room.first(std::min(most, room.size()));
  absl::Span<std::uint8_t> other = room.last(next.size());
  Bytes data = chunk;
  // Filters are undone in the reverse of the order in which they were applied.
  for (std::size_t i = filters.size(); i-- > 0;) {
    if (IsLeftOut(mask, i)) continue;
    switch (filters[i].kind) {
      case FilterKind::kDeflate: {
        FOREBAY_ASSIGN_OR_RETURN(data, Inflate(data, next));
        break;
      }
      case FilterKind::kLzf: {
        FOREBAY_ASSIGN_OR_RETURN(data, DecompressLzf(data, next));
        break;
      }
      case FilterKind::kShuffle: {
        FOREBAY_ASSIGN_OR_RETURN(
            data, Unshuffle(data, filters[i].element_bytes, next));
        break;
      }
      case FilterKind::kFletcher32:
        if (data.size() < kChecksum)
          return absl::DataLossError("is damaged: it has no checksum");
        FOREBAY_RETURN_IF_ERROR(CheckFletcher32(
            data.first(data.size() - kChecksum), data.last(kChecksum)));
        data.remove_suffix(kChecksum);
        continue;
      default:  // ParseFilters and DecodeRowKey refuse all other filters
        return Damaged();
    }
    std::swap(next, other);
  }
  if (data.size() == bytes) return data;
  return absl::DataLossError(absl::StrCat(
      "is damaged: a chunk has ", data.size(), " bytes instead of ", bytes));
}

}  // namespace forebay::dataset::hdf5
