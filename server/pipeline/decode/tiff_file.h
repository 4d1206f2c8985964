#ifndef FOREBAY_SERVER_PIPELINE_DECODE_TIFF_FILE_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_TIFF_FILE_H_

#include <tiffio.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// A TIFF file in memory, opened by libtiff, at its first directory.
//
// Not thread-safe. Borrows the bytes from Open until Close or the next Open.
// Does not block. libtiff prints nothing, and reads so little of a directory,
// however its entries overlap, that memory stays in proportion to the file.
class TiffFile {
 public:
  TiffFile() = default;
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  // `most_bytes` bounds each piece of memory that libtiff allocates. Errors: as
  // FailureStatus.
  absl::Status Open(absl::Span<const std::uint8_t> encoded,
                    std::uint64_t most_bytes);
  void Close() { tiff_ = nullptr; }

  // libtiff's handle; null if nothing is open.
  TIFF* get() const { return tiff_.get(); }

  // DATA_LOSS, with what libtiff said last.
  absl::Status FailureStatus() const;

 private:
  struct Closer {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };

  // libtiff's callbacks.
  static tmsize_t OnRead(thandle_t handle, void* out, tmsize_t size);
  static tmsize_t OnWrite(thandle_t, void*, tmsize_t) { return -1; }
  static toff_t OnSeek(thandle_t handle, toff_t offset, int whence);
  static int OnClose(thandle_t) { return 0; }
  static toff_t OnSize(thandle_t handle);
  static int OnError(TIFF*, void* file, const char* module, const char* format,
                     va_list arguments);
  static int OnWarning(TIFF*, void*, const char*, const char*, va_list) {
    return 1;
  }

  absl::Span<const std::uint8_t> encoded_;
  std::uint64_t position_ = 0;
  std::uint64_t may_read_ = 0;
  char message_[160] = {};
  std::unique_ptr<TIFF, Closer> tiff_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TIFF_FILE_H_
