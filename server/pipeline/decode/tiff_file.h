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

  // How many places of strips or tiles the directory lists.
  std::uint64_t piece_count() const { return piece_count_; }

  // Whether a strip or tile that was read is a JPEG image of too few pixels.
  bool lacks_pixels() const { return lacks_pixels_; }

  // DATA_LOSS, with what libtiff said last.
  absl::Status FailureStatus() const;

 private:
  struct Closer {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };

  // Reads what libtiff does not tell of the directory's entries, and checks it.
  absl::Status ReadEntries();

  // libtiff's callbacks.
  static tmsize_t OnRead(thandle_t handle, void* out, tmsize_t size);
  static tmsize_t OnWrite(thandle_t, void*, tmsize_t) { return -1; }
  static toff_t OnSeek(thandle_t handle, toff_t offset, int whence);
  static int OnClose(thandle_t) { return 0; }
  static toff_t OnSize(thandle_t handle);
  static int OnError(TIFF*, void* file, const char* module, const char* format,
                     va_list arguments);
  static int OnWarning(TIFF*, void* file, const char*, const char* format,
                       va_list);

  absl::Span<const std::uint8_t> encoded_;
  std::uint64_t position_ = 0;
  std::uint64_t may_read_ = 0;
  std::uint64_t piece_count_ = 0;
  bool cut_off_ = false;  // whether a read went past the end
  bool lacks_pixels_ = false;
  char message_[160] = {};
  std::unique_ptr<TIFF, Closer> tiff_;
};

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_TIFF_FILE_H_
