#include "server/audio/vorbis_headers.h"

#include <ogg/ogg.h>
#include <vorbis/codec.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

namespace forebay::audio {
namespace {

// First bytes of the identification header (Vorbis I specification, 4.2.1).
constexpr std::string_view kFirstHeader = "\x01vorbis";
constexpr int kHeaders = 3;
// The most bytes that libogg is given at a time.
constexpr std::size_t kFed = 8192;

absl::Status Damaged() {
  return absl::DataLossError("is an Ogg file with damaged Vorbis headers");
}

// The packets of the stream with which a file begins.
class Packets {
 public:
  explicit Packets(absl::Span<const std::uint8_t> file) : left_(file) {
    ogg_sync_init(&sync_);
  }
  ~Packets() {
    if (has_stream_) ogg_stream_clear(&stream_);
    ogg_sync_clear(&sync_);
  }
  Packets(const Packets&) = delete;
  Packets& operator=(const Packets&) = delete;

  // Returns the next packet, which is valid until the next call. Returns
  // nullopt behind the last packet, or if a packet is missing.
  std::optional<ogg_packet> Next() {
    ogg_packet packet = {};
    while (true) {
      const int got = has_stream_ ? ogg_stream_packetout(&stream_, &packet) : 0;
      if (got > 0) return packet;
      if (got < 0 || !TakePage()) return std::nullopt;
    }
  }
  // Whether the current page has another packet behind the one that Next
  // returned.
  bool HasMoreInPage() { return ogg_stream_packetpeek(&stream_, nullptr) != 0; }

 private:
  // Feeds libogg with bytes until it has a page. Returns false at the file's
  // end.
  bool TakePage() {
    ogg_page page = {};
    // A negative result says that bytes which are not a page were skipped.
    for (int got = 0; (got = ogg_sync_pageout(&sync_, &page)) <= 0;) {
      if (got < 0) continue;
      if (left_.empty()) return false;
      const auto bytes =
          static_cast<std::int64_t>(std::min(left_.size(), kFed));
      char* const buffer = ogg_sync_buffer(&sync_, bytes);
      if (buffer == nullptr) return false;
      std::copy_n(left_.begin(), bytes, buffer);
      ogg_sync_wrote(&sync_, bytes);
      left_.remove_prefix(static_cast<std::size_t>(bytes));
    }
    if (!has_stream_) {
      has_stream_ = ogg_stream_init(&stream_, ogg_page_serialno(&page)) == 0;
      if (!has_stream_) return false;
    }
    // libogg ignores pages of other streams.
    ogg_stream_pagein(&stream_, &page);
    return true;
  }

  absl::Span<const std::uint8_t> left_;
  ogg_sync_state sync_ = {};
  ogg_stream_state stream_ = {};
  bool has_stream_ = false;
};

// The headers, as libvorbis stores them.
struct Headers {
  Headers() {
    vorbis_info_init(&info);
    vorbis_comment_init(&comment);
  }
  ~Headers() {
    vorbis_comment_clear(&comment);
    vorbis_info_clear(&info);
  }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;

  vorbis_info info = {};
  vorbis_comment comment = {};
};

bool IsFirstHeader(const ogg_packet& packet) {
  return packet.bytes >= static_cast<std::int64_t>(kFirstHeader.size()) &&
         std::memcmp(packet.packet, kFirstHeader.data(), kFirstHeader.size()) ==
             0;
}

// Gives all headers to libvorbis; `first` is the first header. Returns false if
// a header is damaged or missing.
bool TakeHeaders(ogg_packet first, Packets& packets, Headers& headers) {
  std::optional<ogg_packet> packet = first;
  for (int i = 0; i < kHeaders; ++i) {
    if (i > 0) packet = packets.Next();
    if (!packet.has_value() ||
        vorbis_synthesis_headerin(&headers.info, &headers.comment, &*packet) !=
            0) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::Status CheckVorbisHeaders(absl::Span<const std::uint8_t> file) {
  Packets packets(file);
  const std::optional<ogg_packet> first = packets.Next();
  if (!first.has_value() || !IsFirstHeader(*first)) return absl::OkStatus();
  Headers headers;
  if (packets.HasMoreInPage() || !TakeHeaders(*first, packets, headers))
    return Damaged();
  return absl::OkStatus();
}

// A packet adds this number of frames: a quarter of the sum of its block's size
// and the previous block's size (Vorbis I specification, 4.3.8). The last
// packet of a page has the granule position, which is the number of the
// stream's frames up to the packet's end.
bool IsCutOut(absl::Span<const std::uint8_t> file) {
  Packets packets(file);
  const std::optional<ogg_packet> first = packets.Next();
  Headers headers;
  if (!first.has_value() || !IsFirstHeader(*first) ||
      !TakeHeaders(*first, packets, headers)) {
    return false;
  }
  std::int64_t frames = 0;
  // Size of the previous block; 0 if there is none.
  std::int64_t before = 0;
  while (std::optional<ogg_packet> packet = packets.Next()) {
    const std::int64_t block = vorbis_packet_blocksize(&headers.info, &*packet);
    if (block > 0) {
      if (before > 0) frames += (before + block) / 4;
      before = block;
    }
    // On a stream's last page, a lower granule position may also mean that the
    // encoder cut off the end.
    if (packet->granulepos >= 0)
      return packet->e_o_s == 0 && frames > packet->granulepos;
  }
  return false;
}

}  // namespace forebay::audio
